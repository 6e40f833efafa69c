package anthropic_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/anthropic"
	"github.com/ripcord-go/ripcord/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a driver that closes with the test.
func open(t testing.TB, cfg anthropic.Config) *anthropic.Model {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	m, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func driver() modeltest.Driver {
	return modeltest.Driver{
		Wire: model.Anthropic,
		New:  func(t testing.TB, url string) model.Model { return open(t, anthropic.Config{BaseURL: url}) },
		Keyed: func(t testing.TB, url, key string) model.Model {
			return open(t, anthropic.Config{BaseURL: url, Key: key})
		},
	}
}

// proves MOD-01, MOD-02, MOD-03, INT-45, INT-47 and the driver's part of B019,
// B021, B039, B054, B056, B059, B062, B065
func TestTheDriverKeepsTheContract(t *testing.T) { modeltest.Run(t, driver()) }

// BenchmarkStop measures MOD-03.
func BenchmarkStop(b *testing.B) { modeltest.BenchmarkStop(b, driver()) }
