// Package config reads settings: flag, environment, project file, user file,
// default, in that order (IFC-09). Every value in force keeps its [Origin].
//
//	flag ▷ RIPCORD_* ▷ .ripcord/config.toml ▷ ~/.config/ripcord/config.toml ▷ default
//	                    │
//	                    ├─ chooses a model, narrows: always
//	                    └─ opens a door: only if the project is trusted
//
// Files are read strictly: a key that is not known, of the wrong type or with a
// value that means nothing is one sentence with file, line and what would be
// right, never ignored and never with the value in it, which may be a key.
//
// # Trust
//
// A project's file comes with the code of strangers. What opens a door (where
// requests go and with which key, commands that run, calls that need no
// approval, servers of tools, limits that rise, guards that see less, waiting
// texts that are dropped) waits until a person said that the project is trusted. [Store] keeps that word by the project's resolved
// folder and the content of its files: all that is in .ripcord, .ripcord.toml
// and .mcp.json. Whoever changes a byte of them takes it away.
//
//	none ─(a file appears)─▶ untrusted ─(Trust)─▶ trusted ─(a byte changes)─▶ changed
//	                             ▲                   │ Revoke                   │ Trust
//	                             └───────────────────┴──────────────────────────┴─▶ trusted
//
// What is ignored is listed ([Settings.Ignored]) so that a caller can say it.
//
// # Guards
//
// A guard's value is looked for at the provider, then, where the provider is
// asked on this machine, in the profile "local", then in what holds for all:
//
//	providers.NAME.guards.stall.idle ▷ providers.local.guards… ▷ guards.stall.idle ▷ default
//
// Each default says where it comes from ([Entry.Why]).
//
// # What it never does
//
// It starts nothing, asks no network, makes no goroutine, and writes only the
// store of trust, on request.
package config
