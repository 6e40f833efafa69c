package mcp_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

// message is a line of the protocol.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Cursor    string          `json:"cursor"`
		Arguments json.RawMessage `json:"arguments"`
		RequestID json.RawMessage `json:"requestId"`
		Reason    string          `json:"reason"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// hostile is a server written by hand, so that it can break every rule.
type hostile struct {
	mode string
	mu   sync.Mutex
	out  *bufio.Writer
	hung map[string]string // calls without an answer: id, tool
}

// serve speaks the protocol on standard input and output, in its way.
func serve(mode string) int {
	s := &hostile{mode: mode, out: bufio.NewWriter(os.Stdout), hung: map[string]string{}}
	s.note("start")
	fmt.Fprintln(os.Stderr, "a word to people, key=hush-hush")
	switch mode {
	case "exits":
		return 3
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		cmd := exec.Command("sh", "-c", `trap '' TERM HUP; setsid sh -c 'trap "" TERM HUP; sleep 1000 & exec sleep 1000' & (sleep 1000 &); exec sleep 1000`)
		if err := cmd.Start(); err != nil {
			return 1
		}
	case "chatty":
		s.raw("Welcome to the chatty server 1.0!\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"resu\n\xff\xfe\xff\n[1,2,3]\n{\"a\":1}\n" + strings.Repeat("x", 200<<10))
	case "noisy":
		s.raw(strings.Repeat("noise\n", 1500))
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if mode == "stubborn" {
				select {} // the end of the input is nothing to it
			}
			return 0
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if code, over := s.handle(m); over {
			return code
		}
	}
}

func (s *hostile) note(line string) {
	f, err := os.OpenFile(os.Getenv(ledgerVar), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

func (s *hostile) raw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.WriteString(text)
	_ = s.out.Flush()
}

func (s *hostile) answer(id json.RawMessage, result string) {
	if s.mode == "chatty" {
		s.raw("debug: answering\n")
	}
	s.raw(fmt.Sprintf(`{"result":%s,"jsonrpc":"2.0","id":%s}`+"\n", result, id))
}

func (s *hostile) fault(id json.RawMessage, code int, words string) {
	s.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, words))
}

func textResult(text string) string {
	return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text)
}

func (s *hostile) handle(m message) (code int, over bool) {
	s.note(m.Method + " " + m.Params.Name)
	switch m.Method {
	case "server/discover":
		s.fault(m.ID, -32601, "Method not found")
	case "initialize":
		if s.mode == "refuses" {
			s.fault(m.ID, -32000, "not today, key=hush-hush")
			return 0, false
		}
		s.answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"hostile","version":"6.6.6"}}`)
	case "tools/list":
		s.list(m)
		if s.mode == "deaf" {
			select {} // whatever is said to it from now on
		}
	case "notifications/cancelled":
		s.note(fmt.Sprintf("cancelled %s %s", m.Params.RequestID, m.Params.Reason))
		s.cancelled(string(m.Params.RequestID))
	case "tools/call":
		return s.call(m)
	case "ping":
		s.answer(m.ID, `{}`)
	}
	return 0, false
}

func (s *hostile) list(m message) {
	switch s.mode {
	case "pages":
		next := map[string]string{"": "two", "two": "three"}[m.Params.Cursor]
		s.answer(m.ID, fmt.Sprintf(`{"tools":[{"name":"page_%s","inputSchema":{"type":"object"}}],"nextCursor":%q}`, m.Params.Cursor, next))
		return
	case "endless":
		s.answer(m.ID, `{"tools":[{"name":"again","inputSchema":{"type":"object"}}],"nextCursor":"again"}`)
		return
	case "odd":
		s.answer(m.ID, oneLine(`{"tools":[
			{"name":"weird.name/with spaces","description":"","inputSchema":{"type":"object","properties":{"a":true,"b":{"type":"array","items":[{"type":"string"}]},"c":{"type":5},"d":{"type":"integer","minimum":"x"}},"required":true}},
			{"name":"list","inputSchema":{"type":"array"}},
			{"name":"huge","inputSchema":{"type":"object","description":"`+strings.Repeat("x", 70<<10)+`"}},
			{"name":"`+strings.Repeat("long", 40)+`1","inputSchema":{"type":"object"}},
			{"name":"`+strings.Repeat("long", 40)+`2","inputSchema":{"type":"object"}},
			{"name":"twin","inputSchema":{"type":"object"}},{"name":"twin","inputSchema":{"type":"object"}},
			{"name":"weird_name_with_spaces","inputSchema":{"type":"object"}},
			null]}`))
		return
	}
	any := `"inputSchema":{"type":"object","properties":{"text":{"type":"string"},"path":{},"command":{}}}`
	var tools []string
	for _, name := range []string{"echo", "fail", "fault", "badargs", "hang", "late", "gives_up", "progress", "parts", "env", "huge", "huge_last", "die", "silent", "weird", "change"} {
		tools = append(tools, fmt.Sprintf(`{"name":%q,"description":"it is %s",%s,"annotations":{"readOnlyHint":%v}}`, name, name, any, name == "echo"))
	}
	if s.mode == "changed" {
		tools = append(tools, `{"name":"fresh","description":"new",`+any+`}`)
	}
	s.answer(m.ID, `{"tools":[`+strings.Join(tools, ",")+`]}`)
}

func (s *hostile) cancelled(id string) {
	s.mu.Lock()
	name := s.hung[id]
	s.mu.Unlock()
	switch name {
	case "gives_up":
		s.fault(json.RawMessage(id), -32800, "cancelled as asked")
	case "finishes":
		s.answer(json.RawMessage(id), textResult("done in time"))
	}
}

func (s *hostile) hang(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung[string(m.ID)] = m.Params.Name
}

func (s *hostile) call(m message) (code int, over bool) {
	if s.mode == "dies" {
		return 7, true
	}
	switch m.Params.Name {
	case "echo":
		s.late()
		var a struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(m.Params.Arguments, &a)
		if a.Text == "finish when told" {
			m.Params.Name = "finishes"
			s.hang(m)
			s.progress(m, 1)
			return 0, false
		}
		s.answer(m.ID, textResult("echo: "+a.Text))
	case "fail":
		s.answer(m.ID, `{"content":[{"type":"text","text":"the disk is full"}],"isError":true}`)
	case "fault":
		s.fault(m.ID, -32603, "internal trouble")
	case "badargs":
		s.fault(m.ID, -32602, "text must be longer")
	case "hang", "late", "gives_up":
		s.hang(m)
		s.progress(m, 1)
	case "silent":
	case "progress":
		for i := range 3 {
			s.progress(m, i+1)
		}
		s.answer(m.ID, textResult("all done"))
	case "parts":
		png := base64.StdEncoding.EncodeToString([]byte("\x89PNG not really"))
		s.answer(m.ID, oneLine(fmt.Sprintf(`{"content":[{"type":"text","text":"words"},{"type":"image","mimeType":"image/png","data":%q},
			{"type":"audio","mimeType":"audio/wav","data":%q},{"type":"resource_link","uri":"file:///x","name":"x","mimeType":"text/plain"},
			{"type":"resource","resource":{"uri":"mem://1","text":"inside"}},{"type":"resource","resource":{"uri":"mem://2","mimeType":"application/zip","blob":%q}},
			{"type":"image","mimeType":"image/tiff","data":%q}],"structuredContent":{"sum":3}}`, png, png, png, png)))
	case "weird":
		s.answer(m.ID, `{"content":[{"type":"hologram","text":"?"}]}`)
	case "env":
		s.answer(m.ID, textResult(strings.Join(os.Environ(), "\n")))
	case "huge", "huge_last":
		s.huge(m)
	case "change":
		s.mode = "changed"
		s.raw(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		s.answer(m.ID, textResult("changed"))
	case "die":
		fmt.Fprintln(os.Stderr, "dying now\x1b]0;title\x07")
		return 3, true
	default:
		s.fault(m.ID, -32602, "Unknown tool: "+m.Params.Name)
	}
	return 0, false
}

// late answers every call that was given up for good, before anything else.
func (s *hostile) late() {
	s.mu.Lock()
	var ids []string
	for id, name := range s.hung {
		if name == "late" {
			ids = append(ids, id)
			delete(s.hung, id)
		}
	}
	s.mu.Unlock()
	for _, id := range ids {
		s.answer(json.RawMessage(id), textResult("too late"))
		s.note("late " + id)
	}
}

func (s *hostile) progress(m message, n int) {
	s.raw(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3,"message":"part %d"}}`+"\n",
		m.Params.Meta.Token, n, n))
}

// huge sends 100 MB in one line, with the id before or behind them.
func (s *hostile) huge(m message) {
	chunk := strings.Repeat("0123456789abcdef", 4096)
	head, tail := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"id":77,"content":[{"type":"text","text":"`, m.ID), `"}]}}`+"\n"
	if m.Params.Name == "huge_last" {
		head, tail = `{"jsonrpc":"2.0","result":{"id":77,"content":[{"type":"text","text":"\"id\":5,{`, fmt.Sprintf(`"}]},"id":%s}`+"\n", m.ID)
	}
	s.raw(head)
	for range 100 << 20 / len(chunk) {
		s.raw(chunk)
	}
	s.raw(tail)
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "") }
