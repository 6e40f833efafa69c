package openai_test

import (
	"testing"

	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/modeltest"
	"github.com/ripcord-go/ripcord/model/openai"
)

// open returns a driver that closes with the test.
func open(t testing.TB, cfg openai.Config) *openai.Model {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	m, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// openResponses is open for the responses wire.
func openResponses(t testing.TB, cfg openai.Config) *openai.Responses {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	m, err := openai.NewResponses(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func chat() modeltest.Driver {
	return modeltest.Driver{
		New: func(t testing.TB, url string) model.Model { return open(t, openai.Config{BaseURL: url}) },
		Keyed: func(t testing.TB, url, key string) model.Model {
			return open(t, openai.Config{BaseURL: url, Key: key})
		},
	}
}

func responses() modeltest.Driver {
	return modeltest.Driver{
		Wire: model.OpenAIResponses,
		New:  func(t testing.TB, url string) model.Model { return openResponses(t, openai.Config{BaseURL: url}) },
		Keyed: func(t testing.TB, url, key string) model.Model {
			return openResponses(t, openai.Config{BaseURL: url, Key: key})
		},
	}
}

// proves MOD-01, MOD-02, MOD-03, INT-45, INT-47 and the driver's part of B021,
// B039, B054, B056, B059, B062, B065
func TestTheDriverKeepsTheContract(t *testing.T) { modeltest.Run(t, chat()) }

// proves MOD-01, MOD-02, MOD-03, INT-45, INT-47 and the driver's part of B019,
// B021, B039, B054, B056, B059, B062, B065
func TestTheResponsesDriverKeepsTheContract(t *testing.T) { modeltest.Run(t, responses()) }

// BenchmarkStop measures MOD-03 on both wires.
func BenchmarkStop(b *testing.B) {
	b.Run("chat", func(b *testing.B) { modeltest.BenchmarkStop(b, chat()) })
	b.Run("responses", func(b *testing.B) { modeltest.BenchmarkStop(b, responses()) })
}
