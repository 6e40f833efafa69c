package scripted

// Coder returns the script of [CoderText]: the model of the chat and the demo
// when there is no key.
func Coder() *Script {
	s, err := Parse(CoderText)
	if err != nil {
		panic("the embedded script does not parse: " + err.Error()) // a test holds it to that
	}
	return s
}

// CoderText plays somebody who works with a shell: words, then a command that
// takes 30 visible seconds, then a summary of what came of it. It answers to a
// stop in the middle of either.
const CoderText = `# The demo model. It is a script and says so.

# 1. The request ends with a result.
answer always if result "second 30 of 30"
  type 25ms "### The command ran to its end\n\n- it counted **30 seconds**, nothing stopped it\n- its last line was \x60${result}\x60\n\nI am the scripted demo model, no AI: ask anything and press *Esc* while the command runs, to see it stopped."
  usage 900 60
  finish stop
answer always if result
  type 25ms "### The command came back\n\nIts last line is:\n\n\x60\x60\x60\n${result}\n\x60\x60\x60\n\nThat is all that the script knows to do with it."
  usage 900 40
  finish stop

# 2. The turn before was stopped while its command ran, or the process died.
answer always if cut "blindly" and tool bash
  type 25ms "The outcome of my last command is not known: the process died while it ran. I do not repeat it; I look first.\n"
  call bash demo_${calls} {"command":"echo looking; pwd; ls | head -5"}
  usage 700 40
  finish tool
answer always if cut "aborted" and tool bash
  type 25ms "My last command was stopped before its end, so part of its work may be done. I do not run it again; here is a shorter one.\n"
  call bash demo_${calls} {"command":"for i in 1 2 3 4 5; do echo \"second $i of 5\"; sleep 1; done"}
  usage 700 40
  finish tool
answer always if cut and tool bash
  type 25ms "My last command never ran. A shorter one instead.\n"
  call bash demo_${calls} {"command":"for i in 1 2 3 4 5; do echo \"second $i of 5\"; sleep 1; done"}
  usage 700 40
  finish tool

# 3. What the person may ask for by a word.
answer always if user "/long"
  repeat 40 type 60ms "This is sentence ${n} of the forty that the scripted demo model has for a long answer, so that there is time to stop it. "
  usage 300 900
  finish stop
answer always if user "/think"
  reasoning "The script thinks first, "
  wait 400ms
  reasoning "so that thinking can be seen, "
  wait 400ms
  reasoning "and then it speaks."
  wait 400ms
  type 25ms "That was thinking, scripted like the rest."
  usage 300 40
  finish stop
answer always if user "/silent"
  text "I say this and then nothing more. "
  hang
answer always if user "/markdown"
  type 15ms "# A heading\n\nWords in *italics*, in **bold** and in \x60code\x60.\n\n1. first\n2. second\n\n| key | does |\n|---|---|\n| Esc | stops the turn |\n| Esc Esc | takes a turn back |\n\n\x60\x60\x60go\nfunc main() { println(\"a script\") }\n\x60\x60\x60\n"
  usage 300 90
  finish stop

# 4. The turn before was stopped while words came.
answer always if user "<turn_aborted>"
  type 25ms "My last answer was cut off. I am the scripted demo model: what was said stays said, and I go on from here. Ask anything, or try /long, /think, /silent or /markdown."
  usage 300 40
  finish stop

# 5. Anything else.
answer always if tool bash
  type 30ms "I am Ripcord's scripted demo model: a script, no AI. You wrote: “${user}”. I run a command that takes 30 seconds; stop it at any moment with Esc.\n"
  call bash demo_${calls}
  args {"command":"for i in $(seq 1 30);
  args do echo \"second $i of 30\"; sleep 1; done"}
  usage 500 50
  finish tool
default
  type 30ms "I am Ripcord's scripted demo model: a script, no AI. You wrote: “${user}”. Set RIPCORD_BASE_URL or OPENAI_API_KEY to talk to a real model."
  usage 500 40
  finish stop
`
