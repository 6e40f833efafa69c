package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/workflow"
)

// What this binary can be started as, beside itself.
const (
	asVictim = "RIPCORD_MATRIX_VICTIM" // a runtime that is killed; the value is its [setting]
	asServer = "RIPCORD_MATRIX_SERVER" // a server of tools; the value is what it writes to
)

// roles runs the process as what it was started as and does not return then.
func roles(ctx context.Context) {
	proc.Main(workflow.Role())
	var err error
	switch {
	case os.Getenv(asServer) != "":
		err = serve(os.Getenv(asServer))
	case os.Getenv(asVictim) != "":
		err = beVictim(ctx, os.Getenv(asVictim))
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// beVictim runs the cell's turns until it is killed.
func beVictim(ctx context.Context, spec string) error {
	var s setting
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return err
	}
	c, err := hire(ctx, s)
	if err != nil {
		return err
	}
	st, err := c.rt.Open(ctx, api.OpenRequest{Cwd: s.cwd()})
	if err == nil && s.Ready {
		_, err = c.rt.Run(ctx, st.ID, prepare)
	}
	if err == nil {
		_, err = c.rt.Run(ctx, st.ID, begin)
	}
	return errors.Join(err, c.close(ctx))
}

// message is what a server of tools is sent.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Arguments struct {
			How string `json:"how"`
		} `json:"arguments"`
	} `json:"params"`
}

// serve is a small server of tools. It writes down what it is asked and told.
func serve(log string) error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil // its runtime is gone
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		answer := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result) }
		switch m.Method {
		case "initialize":
			answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"own","version":"1"}}`)
		case "tools/list":
			answer(`{"tools":[{"name":"work","description":"works","inputSchema":{"type":"object","additionalProperties":false,"required":["how"],"properties":{"how":{"type":"string"}}}}]}`)
		case "tools/call":
			note(log, "asked")
			if m.Params.Arguments.How != "long" { // else it never answers
				note(log, "served")
				answer(`{"content":[{"type":"text","text":"the server has worked"}]}`)
			}
		case "notifications/cancelled":
			note(log, "cancelled")
		default:
			if len(m.ID) > 0 {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
			}
		}
	}
}
