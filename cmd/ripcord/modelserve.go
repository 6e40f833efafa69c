package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/model/scripted"
)

func modelCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "model", Short: "The scripted model as a server",
		Example: "  ripcord model serve answers.txt\n  ripcord model help",
	}
	cmd.AddCommand(modelServe(a), &cobra.Command{
		Use: "help", Short: "Print the script format", Args: cobra.NoArgs,
		Example: "  ripcord model help",
		RunE: func(*cobra.Command, []string) error {
			a.out.write([]byte(scripted.Help))
			return nil
		},
	})
	return cmd
}

func modelServe(a *app) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use: "serve SCRIPT", Short: "Serve a script as a model over three wires, until interrupted", Args: cobra.ExactArgs(1),
		Long: `Serve a script as a model, until interrupted. The first line on stdout is the
base URL; the lines after it name each provider (RIPCORD_PROVIDER) that can be
set with it, and where that one asks: chat completions, responses, messages.
"ripcord model help" prints the script format.`,
		Example: `  ripcord model serve answers.txt
  ripcord model serve answers.txt --addr 127.0.0.1:8123
  RIPCORD_BASE_URL=http://127.0.0.1:8123/v1 ripcord run hello
  RIPCORD_PROVIDER=anthropic RIPCORD_BASE_URL=http://127.0.0.1:8123/v1 ripcord run hello`,
		RunE: a.plain(func(ctx context.Context, args []string) error {
			script, err := readScript(args[0])
			if err != nil {
				return err
			}
			s, err := scripted.NewServer(script, scripted.Options{Addr: addr})
			if err != nil {
				return usagef("choose another --addr", "%v", err)
			}
			a.print("%s\n", s.URL())
			for _, w := range scripted.Wires() {
				a.print("%-17s %s%s\n", w.Provider, s.URL(), w.Path)
			}
			<-ctx.Done()
			return s.Close()
		}),
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "host:port to listen on; port 0 chooses a free one")
	return cmd
}

// readScript reads a script's file.
func readScript(path string) (*scripted.Script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("name a file with a script; `ripcord model help` has the format", "the script cannot be read: %v", err)
	}
	s, err := scripted.Parse(string(text))
	if err != nil {
		return nil, usagef("`ripcord model help` has the format", "%s: %v", path, err)
	}
	return s, nil
}
