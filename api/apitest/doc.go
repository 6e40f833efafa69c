// Package apitest is the suite that holds every api.Service to its page.
//
//	Run(t, open) ─┬─ "in process":      open's service itself
//	              └─ "over the socket": remote.Dial ─▶ remote.Serve ─▶ open's service
//
// The service under test must have a model that can be told what to do with
// an input; [Script] says which inputs do what. The suite waits for conditions
// and never sleeps. Goroutines of the socket's serving end belong to the
// subtest that started them and are waited for by its clean-up.
package apitest
