package scripted

// Help describes the script format.
const Help = `A script is lines of text. "#" begins a comment line. Each request takes the
first answer that is not used up and whose conditions hold; then the default
answer; if there is none the request is refused with status 400. One script
answers on three wires: chat completions, responses and messages.

ANSWERS
  answer [x N | always] [if COND [and COND]...]
      begins an answer; it is given once, N times or always
  default
      begins the answer for when nothing else fits
CONDITIONS (a word, or "quoted text"; "not" before one turns it round)
  user TEXT      the last user message contains TEXT
  result [TEXT]  the request ends with a tool's result (that contains TEXT)
  cut [TEXT]     a user message follows a result (that contains TEXT) directly:
                 the turn of the call was stopped
  last [TEXT]    the history's last tool result contains TEXT
  step N         N-1 assistant messages follow the last user message
  request N      the server's Nth request, from 1
  tool NAME      the request offers a tool of that name
STEPS, one a line, below an answer
  text WORDS               an event with this text; "..." takes \n and \x escapes
  type DURATION WORDS      the words one by one, DURATION apart
  reasoning WORDS          thinking
  signature SIG            ends the thinking block and signs it
  redacted DATA            a block of sealed thinking
  call NAME ID [ARGS]      starts a call; ID - is no id
  args FRAGMENT            a fragment of the call's arguments
  end                      ends the call (chat completions has no word for it)
  usage IN OUT             token counts; - is not given (responses: before finish)
  finish stop|tool|length|filter
  ping                     a keep-alive comment
  wait DURATION            silence
  hold DURATION            silence before the headers; first step only
  headers                  sends the headers now (they are sent before any step but hold)
  hang                     silence for ever, the connection open
  drop                     cuts the connection
  close                    ends the body in good order, without [DONE]
  nodone                   leaves out the [DONE] or message_stop after a finish
  http STATUS [retry-after N] [body TEXT]   an answer that is no stream
  html                     a web page
  error KIND WORDS         an error object in the stream
  raw BYTES                bytes as they are; "..." takes escapes
  split N                  from here on writes are cut every N bytes, 0: not
  prose N [DURATION]       N words that vary, DURATION apart, the same each time
  repeat N STEP            the step N times; ${n} in it is which time, from 1
  In words and args ${user} is the last user message's last part, ${result} the
  last result's last line, ${calls} the number of calls so far, ${step} the step,
  ${prose N} is N characters of varied words, the same each time.
AT THE TOP
  split N        for all answers
  loop           begin again when all is used up
  lenient        accept a history that strict mode would refuse
COMPACT NOTATION, a whole answer on one line (indented: steps of the answer above)
  T'text' R'reasoning' S'signature' C(id,tool) A'args' E U(in,out)
  F(stop|tool|length|filter) P W(1.5s) HANG DROP H(status[,retry-after])
  x N repeats what stands before it; ( ... ) groups
  In T R S a backslash escapes as in Go; in A it is itself, save before a quote.
EXAMPLE
  answer if user hello
    type 40ms Hello. I am a script.
    usage 12 6
    finish stop
  T'Let me see. ' C(c1,bash) A'{"command":"date"}' E F(tool)
  default
    text Nothing more is written for me.
    finish stop
`
