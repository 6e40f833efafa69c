# What a developer types. `make` alone lists it; .ci/run is what the machine runs.

GO ?= go
TREES ?= 10000
SCENARIOS ?= 70
SEEDS ?= 1000000
FUZZTIME ?= 1m

.DEFAULT_GOAL := help
.PHONY: help build test race lint trees sweep simulate matrix mutate fuzz bench cover demo guard-eval ci

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the ripcord command, in ./bin
	$(GO) build -o bin/ripcord ./cmd/ripcord

test: ## all tests
	go test ./...

race: ## all tests under the race detector
	GORACE=atexit_sleep_ms=20 $(GO) test -race ./...

lint: ## gofmt, vet on two systems, staticcheck
	.ci/run gofmt vet cross staticcheck

trees: ## random process trees, stopped at random moments: no survivors (TREES=10000)
	RIPCORD_TREES=$(TREES) .ci/run trees

sweep: ## cut every journal at every record and byte, recover, check (SCENARIOS=70)
	RIPCORD_SWEEP=full RIPCORD_SCENARIOS=$(SCENARIOS) .ci/run sweep

simulate: ## the pure core under one seeded queue of events (SEEDS=1000000)
	RIPCORD_SEEDS=$(SEEDS) .ci/run simulate

matrix: ## every kind of tool brought to every end a call can have, on each wire
	.ci/run matrix

mutate: ## put each seeded bug in and see its test go red
	$(GO) run ./internal/mutate

fuzz: ## each fuzz target for FUZZTIME=1m
	RIPCORD_FUZZTIME=$(FUZZTIME) .ci/run fuzz

guard-eval: ## the stream loop guard on its labelled corpus: recall, false alarms, speed
	$(GO) run ./internal/guardeval

bench: ## the table of figures, with this machine's name on it
	$(GO) run ./bench

cover: ## coverage of all packages by all tests, in coverage.out
	RIPCORD_COVER_FLOOR=0 .ci/run cover

demo: build ## see a turn stopped and gone on with; needs no model
	bin/ripcord demo

ci: ## everything that .ci/run does
	.ci/run
