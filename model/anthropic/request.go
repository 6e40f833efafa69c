package anthropic

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// body builds the request. Its errors are a [*model.Error], or the cause of
// ctx if it ended while a blob was fetched.
func (m *Model) body(ctx context.Context, req model.Request) ([]byte, error) {
	b := builder{ctx: ctx, req: req}
	for _, e := range model.Exchanges(req.Messages, model.Anthropic) {
		b.exchange(e)
	}
	b.send(b.user, false)
	if n := len(b.msgs); n > 0 && b.msgs[n-1].own {
		b.send([]sdk.ContentBlockParamUnion{sdk.NewTextBlock(resumeWords)}, false)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p := sdk.MessageNewParams{Model: m.cfg.Model, Messages: b.messages(), MaxTokens: int64(m.cfg.MaxTokens)}
	if n := req.Params.MaxTokens; n != nil && *n > 0 {
		p.MaxTokens = int64(*n)
	}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System}}
	}
	for _, t := range req.Tools {
		tool, err := offered(t)
		if err != nil {
			return nil, err
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	m.tune(&p, req.Params)
	out, err := json.Marshal(p)
	if err != nil {
		return nil, &model.Error{Failure: event.Failure{Code: event.FailInternal,
			Message: "the request could not be written as JSON"}, Err: err}
	}
	return out, nil
}

// tune sets what a person may have set. An effort means thinking, and thinking
// admits no temperature. At Anthropic's own address the history is kept in the
// provider's cache from one step to the next.
func (m *Model) tune(p *sdk.MessageNewParams, set event.ModelParams) {
	extra := map[string]any{"stream": true}
	switch set.Effort {
	case "":
		if set.Temperature != nil { // the SDK has no name for it any more; older models take it
			extra["temperature"] = *set.Temperature
		}
	case "none":
		off := sdk.NewThinkingConfigDisabledParam()
		p.Thinking = sdk.ThinkingConfigParamUnion{OfDisabled: &off}
	default:
		p.Thinking = sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{}}
		p.OutputConfig = sdk.OutputConfigParam{Effort: sdk.OutputConfigEffort(set.Effort)}
	}
	if m.own {
		p.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	p.SetExtraFields(extra)
}

func offered(t event.ToolSchema) (*sdk.ToolParam, error) {
	tool := &sdk.ToolParam{Name: t.Name}
	if t.Description != "" {
		tool.Description = param.NewOpt(t.Description)
	}
	schema := map[string]json.RawMessage{} // inner values keep their order
	if len(t.Schema) > 0 {
		if err := json.Unmarshal(t.Schema, &schema); err != nil {
			return nil, &model.Error{Failure: event.Failure{Code: event.FailConfig,
				Message: "the schema of tool " + t.Name + " is not a JSON object",
				Hint:    "correct the tool, or leave it out"}, Err: err}
		}
	}
	extra := map[string]any{}
	for k, v := range schema {
		if k != "type" { // always object, written by the SDK
			extra[k] = v
		}
	}
	tool.InputSchema = sdk.ToolInputSchemaParam{ExtraFields: extra}
	return tool, nil
}

// builder writes a history as messages that alternate.
type builder struct {
	ctx  context.Context
	req  model.Request
	msgs []message
	user []sdk.ContentBlockParamUnion // of the open user message, results first
}

type message struct {
	own    bool // the model's
	blocks []sdk.ContentBlockParamUnion
}

func (b *builder) messages() []sdk.MessageParam {
	var out []sdk.MessageParam
	for _, m := range b.msgs {
		if m.own {
			out = append(out, sdk.NewAssistantMessage(m.blocks...))
		} else {
			out = append(out, sdk.NewUserMessage(m.blocks...))
		}
	}
	return out
}

func (b *builder) send(blocks []sdk.ContentBlockParamUnion, own bool) {
	n := len(b.msgs)
	switch {
	case len(blocks) == 0:
	case n > 0 && b.msgs[n-1].own == own: // nothing sayable stood between
		b.msgs[n-1].blocks = append(b.msgs[n-1].blocks, blocks...)
	default:
		b.msgs = append(b.msgs, message{own, blocks})
	}
}

func (b *builder) exchange(e model.Exchange) {
	for _, p := range e.User {
		if block, ok := b.part(p); ok {
			b.user = append(b.user, block)
		}
	}
	if len(e.Said) == 0 && len(e.Results) == 0 {
		return
	}
	if len(b.msgs) == 0 && len(b.user) == 0 {
		b.user = append(b.user, sdk.NewTextBlock(openingWords)) // the first word is the user's
	}
	var said []sdk.ContentBlockParamUnion
	for _, p := range e.Said {
		if block, ok := b.said(p); ok {
			said = append(said, block)
		}
	}
	if len(said) > 0 {
		b.send(b.user, false)
		b.send(said, true)
		b.user = nil
	}
	for _, r := range e.Results {
		b.user = append(b.user, sdk.ContentBlockParamUnion{OfToolResult: b.result(r)})
	}
}

// said writes a part of the model's own words.
func (b *builder) said(p event.Part) (block sdk.ContentBlockParamUnion, ok bool) {
	switch p := p.(type) {
	case event.Text:
		return sdk.NewTextBlock(p.Text), true
	case event.Reasoning:
		if p.Signature == "" {
			return sdk.NewRedactedThinkingBlock(p.Data), true
		}
		return sdk.NewThinkingBlock(p.Signature, p.Text), true
	case event.ToolCall:
		args := p.Args
		if object := map[string]json.RawMessage(nil); json.Unmarshal(args, &object) != nil || object == nil {
			args = json.RawMessage("{}") // never: the turn records only objects
		}
		return sdk.NewToolUseBlock(model.WireID(p.ID, maxCallID), args, b.req.CallName(p.Name)), true
	case event.Image, event.File: // not of a model's own
	}
	return block, false
}

// part writes a part of what a user says; false for what says nothing.
func (b *builder) part(p event.Part) (block sdk.ContentBlockParamUnion, ok bool) {
	var a model.Attachment
	kind := "file"
	switch p := p.(type) {
	case event.Text:
		a.Words = p.Text
	case event.Image:
		a, kind = b.req.Image(b.ctx, p), "image"
	case event.File:
		a = b.req.File(b.ctx, p)
	case event.Reasoning, event.ToolCall: // an assistant's
		return block, false
	}
	if a.Words == "" && a.MediaType != "" {
		switch a.MediaType {
		case "image/jpeg", "image/png", "image/gif", "image/webp":
			return sdk.NewImageBlockBase64(a.MediaType, a.Base64()), true
		case "application/pdf":
			return sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: a.Base64()}), true
		}
		a.Words = a.Unfit(kind)
	}
	if strings.TrimSpace(a.Words) == "" {
		return block, false
	}
	return sdk.NewTextBlock(a.Words), true
}

func (b *builder) result(r event.Message) *sdk.ToolResultBlockParam {
	out := &sdk.ToolResultBlockParam{ToolUseID: model.WireID(r.Call, maxCallID)}
	if r.Error {
		out.IsError = param.NewOpt(true)
	}
	for _, p := range r.Content {
		if block, ok := b.part(p); ok {
			out.Content = append(out.Content, sdk.ToolResultBlockParamContentUnion{
				OfText: block.OfText, OfImage: block.OfImage, OfDocument: block.OfDocument})
		}
	}
	if len(out.Content) == 0 {
		out.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: emptyResult}}}
	}
	return out
}
