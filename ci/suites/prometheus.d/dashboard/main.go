// Reads a dashboard by the types of Grafana: unknown fields and wrong values are errors.
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// fail ends the program if there is an error. Those of the SDK are lists, which may be empty.
func fail(err error) {
	if err != nil && err.Error() != "" {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	plugins.RegisterDefaultPlugins()
	text, err := os.ReadFile(os.Args[1])
	fail(err)
	var board dashboard.Dashboard
	fail(board.UnmarshalJSONStrict(text))
	fail(board.Validate())
	fmt.Println(len(board.Panels), "panels are as Grafana's types say")
}
