package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// body builds the request. Its errors are a [*model.Error], or the cause of
// ctx if it ended while a blob was fetched.
func (m *Model) body(ctx context.Context, req model.Request) ([]byte, error) {
	b := builder{ctx: ctx, req: req, echo: m.cfg.Echo}
	if req.System != "" {
		b.msgs = append(b.msgs, sdk.SystemMessage(req.System))
	}
	b.history(req.Messages)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p := sdk.ChatCompletionNewParams{
		Model:         m.cfg.Model,
		Messages:      b.msgs,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	for _, t := range req.Tools {
		fn, err := function(t)
		if err != nil {
			return nil, err
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(fn))
	}
	if t := req.Params.Temperature; t != nil {
		p.Temperature = param.NewOpt(*t)
	}
	if req.Params.Effort != "" {
		p.ReasoningEffort = shared.ReasoningEffort(req.Params.Effort)
	}
	extra := map[string]any{"stream": true}
	if n := req.Params.MaxTokens; n != nil {
		extra[m.cfg.MaxTokensField] = *n
	}
	p.SetExtraFields(extra)
	return marshal(p)
}

func function(t event.ToolSchema) (shared.FunctionDefinitionParam, error) {
	fn := shared.FunctionDefinitionParam{Name: t.Name}
	if t.Description != "" {
		fn.Description = param.NewOpt(t.Description)
	}
	if len(t.Schema) == 0 {
		return fn, nil
	}
	var schema map[string]json.RawMessage // inner values keep their order
	if err := json.Unmarshal(t.Schema, &schema); err != nil {
		return fn, &model.Error{Failure: event.Failure{Code: event.FailConfig,
			Message: "the schema of tool " + t.Name + " is not a JSON object",
			Hint:    "correct the tool, or leave it out"}, Err: err}
	}
	fn.Parameters = shared.FunctionParameters{}
	for k, v := range schema {
		fn.Parameters[k] = v
	}
	return fn, nil
}

// builder writes a history as this wire wants it: neighbours of one role are
// one message, the results of a message's calls follow it in the calls' order,
// and nothing is empty.
type builder struct {
	ctx  context.Context
	req  model.Request
	echo bool
	msgs []sdk.ChatCompletionMessageParamUnion

	user    []sdk.ChatCompletionContentPartUnionParam // of the open user message
	words   []string                                  // of the open assistant message
	calls   []event.ToolCall
	thought []event.Reasoning
	results []event.Message
	looks   []sdk.ChatCompletionContentPartUnionParam // images that came as results
}

func (b *builder) history(msgs []event.Message) {
	for _, msg := range msgs {
		switch msg.Role {
		case event.RoleUser:
			b.endAssistant()
			b.user = append(b.user, b.parts(msg.Content)...)
		case event.RoleAssistant:
			if len(b.results) > 0 {
				b.endAssistant()
			}
			b.assistant(msg)
		case event.RoleTool:
			b.results = append(b.results, msg)
		}
	}
	b.endAssistant()
	b.endUser()
}

func (b *builder) assistant(msg event.Message) {
	text, calls := msg.Content.Text(), msg.Content.Calls()
	if strings.TrimSpace(text) == "" {
		text = ""
	}
	if text == "" && len(calls) == 0 {
		return // reasoning alone is not said on this wire
	}
	b.endUser()
	if text != "" {
		b.words = append(b.words, text)
	}
	b.calls = append(b.calls, calls...)
	for _, p := range msg.Content {
		r, ok := p.(event.Reasoning)
		if ok && (r.Signature != "" || r.Data != "") && (r.Provider == "" || r.Provider == model.OpenAIChat) {
			b.thought = append(b.thought, r)
		}
	}
}

// endUser writes the open user message, if there is one.
func (b *builder) endUser() {
	if len(b.user) == 1 && b.user[0].OfText != nil {
		b.msgs = append(b.msgs, sdk.UserMessage(b.user[0].OfText.Text))
	} else if len(b.user) > 0 {
		b.msgs = append(b.msgs, sdk.UserMessage(b.user))
	}
	b.user = nil
}

// endAssistant writes the open assistant message and its results. What was
// shown in a result comes as the user's, for results are text on this wire.
func (b *builder) endAssistant() {
	if len(b.words)+len(b.calls) > 0 {
		b.msgs = append(b.msgs, sdk.ChatCompletionMessageParamUnion{OfAssistant: b.said()})
	}
	place := make(map[event.CallID]int, len(b.calls))
	for i, c := range b.calls {
		place[c.ID] = i
	}
	slices.SortStableFunc(b.results, func(x, y event.Message) int { return cmp.Compare(place[x.Call], place[y.Call]) })
	for _, r := range b.results {
		b.msgs = append(b.msgs, sdk.ToolMessage(b.result(r), callID(r.Call)))
	}
	b.user = append(b.user, b.looks...)
	b.words, b.calls, b.thought, b.results, b.looks = nil, nil, nil, nil, nil
}

// callID hands an id on as it is, unless another provider made it longer than
// this wire takes.
func callID(id event.CallID) string {
	if len(id) <= maxCallID {
		return string(id)
	}
	return model.WireID(id, maxCallID)
}

const maxCallID = 40

func (b *builder) said() *sdk.ChatCompletionAssistantMessageParam {
	msg := &sdk.ChatCompletionAssistantMessageParam{}
	if len(b.words) > 0 {
		msg.Content.OfString = param.NewOpt(strings.Join(b.words, "\n\n"))
	}
	for _, c := range b.calls {
		args := string(c.Args)
		if !json.Valid(c.Args) {
			args = "{}" // never: the turn records only valid ones
		}
		fn := &sdk.ChatCompletionMessageFunctionToolCallParam{ID: callID(c.ID)}
		fn.Function.Name = b.req.CallName(c.Name)
		fn.Function.Arguments = args
		msg.ToolCalls = append(msg.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: fn})
	}
	if b.echo && len(b.thought) > 0 {
		type block struct {
			Text      string `json:"text,omitempty"`
			Signature string `json:"signature,omitempty"`
			Data      string `json:"data,omitempty"`
		}
		var blocks []block
		for _, r := range b.thought {
			blocks = append(blocks, block{r.Text, r.Signature, r.Data})
		}
		msg.SetExtraFields(map[string]any{"reasoning_blocks": blocks})
	}
	return msg
}

// result gives a result's text and sets its images aside.
func (b *builder) result(r event.Message) string {
	var text []string
	for _, p := range b.parts(r.Content) {
		if p.OfText != nil {
			text = append(text, p.OfText.Text)
			continue
		}
		b.looks = append(b.looks, sdk.TextContentPart("[shown by the tool "+r.Name+":]"), p)
		text = append(text, "[what the tool shows follows after the results]")
	}
	return orElse(strings.Join(text, "\n"), "(no output)")
}

func (b *builder) parts(c event.Content) []sdk.ChatCompletionContentPartUnionParam {
	var out []sdk.ChatCompletionContentPartUnionParam
	for _, p := range c {
		switch p := p.(type) {
		case event.Text:
			if p.Text != "" {
				out = append(out, sdk.TextContentPart(p.Text))
			}
		case event.Image:
			out = append(out, b.image(p))
		case event.File:
			out = append(out, b.file(p))
		case event.Reasoning, event.ToolCall: // an assistant's, written by said
		}
	}
	return out
}

func (b *builder) image(p event.Image) sdk.ChatCompletionContentPartUnionParam {
	a := b.req.Image(b.ctx, p)
	if a.Words != "" {
		return sdk.TextContentPart(a.Words)
	}
	return sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: a.DataURL()})
}

func (b *builder) file(p event.File) sdk.ChatCompletionContentPartUnionParam {
	a := b.req.File(b.ctx, p)
	if a.Words != "" {
		return sdk.TextContentPart(a.Words)
	}
	return sdk.FileContentPart(sdk.ChatCompletionContentPartFileFileParam{
		Filename: param.NewOpt(p.Name), FileData: param.NewOpt(a.DataURL()),
	})
}
