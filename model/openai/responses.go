package openai

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// Responses asks one model at one address over the responses wire. It is safe
// for concurrent use.
type Responses struct {
	cfg  Config
	wire *model.Wire
}

var _ model.Model = (*Responses)(nil)

// NewResponses returns a driver. It asks nothing. Config's Echo and
// MaxTokensField are not used: on this wire reasoning always goes back, and the
// limit has one name. The error is a [*model.Error] of code config.
func NewResponses(cfg Config) (*Responses, error) {
	wire, err := cfg.wire("responses", orElse(cfg.Provider, model.OpenAIResponses), "a server of the responses API")
	if err != nil {
		return nil, err
	}
	return &Responses{cfg: cfg, wire: wire}, nil
}

// Info says what is asked.
func (m *Responses) Info() model.Info { return m.wire.Info() }

// Close ends the idle connections. Streams that run are not touched.
func (m *Responses) Close() error { return m.wire.Close() }

// Stream asks once; see [model.Model].
func (m *Responses) Stream(ctx context.Context, req model.Request) iter.Seq2[event.Delta, error] {
	return m.wire.Stream(ctx, req.Activity, func() ([]byte, error) { return m.body(ctx, req) }, func() model.Decoder { return &reply{} })
}

// body builds the request; see [Model].body.
func (m *Responses) body(ctx context.Context, req model.Request) ([]byte, error) {
	b := itemBuilder{ctx: ctx, req: req}
	for _, e := range model.Exchanges(req.Messages, model.OpenAIResponses) {
		b.exchange(e)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p := responses.ResponseNewParams{
		Model: m.cfg.Model,
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: b.items},
		Store: param.NewOpt(false), // the journal is the record
	}
	if m.reasons() {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if req.System != "" {
		p.Instructions = param.NewOpt(req.System)
	}
	for _, t := range req.Tools {
		fn, err := function(t)
		if err != nil {
			return nil, err
		}
		tool := responses.FunctionToolParam{Name: fn.Name, Description: fn.Description, Parameters: fn.Parameters, Strict: param.NewOpt(false)}
		if tool.Parameters == nil {
			tool.Parameters = map[string]any{"type": "object", "properties": map[string]any{}}
		}
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &tool})
	}
	if t := req.Params.Temperature; t != nil {
		p.Temperature = param.NewOpt(*t)
	}
	if n := req.Params.MaxTokens; n != nil {
		p.MaxOutputTokens = param.NewOpt(int64(*n))
	}
	if req.Params.Effort != "" {
		p.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffort(req.Params.Effort)}
	}
	p.SetExtraFields(map[string]any{"stream": true})
	return marshal(p)
}

func marshal(p any) ([]byte, error) {
	out, err := json.Marshal(p)
	if err != nil {
		return nil, &model.Error{Failure: event.Failure{Code: event.FailInternal,
			Message: "the request could not be written as JSON"}, Err: err}
	}
	return out, nil
}

// reasons is false for models that refuse to be asked for encrypted reasoning
// because they have none.
func (m *Responses) reasons() bool {
	for _, prefix := range []string{"gpt-3", "gpt-4", "chatgpt"} {
		if strings.HasPrefix(m.cfg.Model, prefix) {
			return false
		}
	}
	return true
}

// itemBuilder writes a history as input items.
type itemBuilder struct {
	ctx   context.Context
	req   model.Request
	items responses.ResponseInputParam
}

const maxReplyID = 64 // bytes of a call_id

func (b *itemBuilder) exchange(e model.Exchange) {
	b.user(e.User)
	for _, p := range e.Said {
		switch p := p.(type) {
		case event.Text:
			b.add(responses.ResponseInputItemParamOfMessage(p.Text, responses.EasyInputMessageRoleAssistant))
		case event.Reasoning:
			if item, ok := sealed(p); ok {
				b.add(item)
			}
		case event.ToolCall:
			args := string(p.Args)
			if !json.Valid(p.Args) {
				args = "{}" // never: the turn records only valid ones
			}
			b.add(responses.ResponseInputItemParamOfFunctionCall(args, model.WireID(p.ID, maxReplyID), b.req.CallName(p.Name)))
		case event.Image, event.File: // not of a model's own
		}
	}
	for _, r := range e.Results {
		b.result(r)
	}
}

func (b *itemBuilder) add(item responses.ResponseInputItemUnionParam) {
	b.items = append(b.items, item)
}

func (b *itemBuilder) user(c event.Content) {
	var parts responses.ResponseInputMessageContentListParam
	for _, p := range c {
		text, a := b.part(p)
		switch {
		case text != "":
			parts = append(parts, responses.ResponseInputContentParamOfInputText(text))
		case a.Data == nil:
		case strings.HasPrefix(a.MediaType, "image/"):
			parts = append(parts, responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{
				Detail: responses.ResponseInputImageDetailAuto, ImageURL: param.NewOpt(a.DataURL())}})
		default:
			parts = append(parts, responses.ResponseInputContentUnionParam{OfInputFile: &responses.ResponseInputFileParam{
				Filename: param.NewOpt(a.Name), FileData: param.NewOpt(a.DataURL())}})
		}
	}
	switch {
	case len(parts) == 0:
	case len(parts) == 1 && parts[0].OfInputText != nil:
		b.add(responses.ResponseInputItemParamOfMessage(parts[0].OfInputText.Text, responses.EasyInputMessageRoleUser))
	default:
		b.add(responses.ResponseInputItemParamOfMessage(parts, responses.EasyInputMessageRoleUser))
	}
}

// part gives a piece of content as text or as what is attached; neither for
// what is a model's own.
func (b *itemBuilder) part(p event.Part) (text string, a model.Attachment) {
	switch p := p.(type) {
	case event.Text:
		return p.Text, a
	case event.Image:
		a = b.req.Image(b.ctx, p)
	case event.File:
		a = b.req.File(b.ctx, p)
	case event.Reasoning, event.ToolCall:
	}
	return a.Words, a
}

// result writes a result. This wire has no flag for an error: the text says it.
func (b *itemBuilder) result(r event.Message) {
	var text []string
	var parts responses.ResponseFunctionCallOutputItemListParam
	shown := false
	for _, p := range r.Content {
		t, a := b.part(p)
		switch {
		case t != "":
			text = append(text, t)
			parts = append(parts, responses.ResponseFunctionCallOutputItemUnionParam{OfInputText: &responses.ResponseInputTextContentParam{Text: t}})
		case a.Data == nil:
		case strings.HasPrefix(a.MediaType, "image/"):
			shown = true
			parts = append(parts, responses.ResponseFunctionCallOutputItemUnionParam{OfInputImage: &responses.ResponseInputImageContentParam{ImageURL: param.NewOpt(a.DataURL())}})
		default:
			shown = true
			parts = append(parts, responses.ResponseFunctionCallOutputItemUnionParam{OfInputFile: &responses.ResponseInputFileContentParam{
				Filename: param.NewOpt(a.Name), FileData: param.NewOpt(a.DataURL())}})
		}
	}
	out := responses.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt(model.WireID(r.Call, maxReplyID))}
	if shown {
		out.Output.OfResponseFunctionCallOutputItemArray = parts
	} else {
		out.Output.OfString = param.NewOpt(orElse(strings.Join(text, "\n"), "(no output)"))
	}
	b.add(responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &out})
}

// seal is what of a reasoning item is kept beside its text, as the provider
// wrote it: with the encrypted content it is the item again. It travels as the
// block's signature.
type seal struct {
	ID      string          `json:"id"`
	Summary json.RawMessage `json:"summary"`
	Content json.RawMessage `json:"content,omitempty"`
}

// sealed makes the item of a block that this wire signed.
func sealed(r event.Reasoning) (item responses.ResponseInputItemUnionParam, ok bool) {
	var s seal
	if json.Unmarshal([]byte(r.Signature), &s) != nil || s.ID == "" || len(s.Summary) == 0 || r.Data == "" {
		return item, false
	}
	raw, err := json.Marshal(struct {
		Type string `json:"type"`
		seal
		Encrypted string `json:"encrypted_content"`
	}{"reasoning", s, r.Data})
	if err != nil {
		return item, false
	}
	own := param.Override[responses.ResponseReasoningItemParam](json.RawMessage(raw))
	return responses.ResponseInputItemUnionParam{OfReasoning: &own}, true
}
