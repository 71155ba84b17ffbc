import { raw } from "hono/html";
import type { JSX } from "hono/jsx/jsx-runtime";
import { RecentMap } from "../../ground/recent-map.ts";

/** Parts that are kept of each component, and the longest input of one: some megabytes at most. */
const mostKept = 500;
const longestInput = 10_000;

/**
 * A component whose HTML is made once for the same input: most of a page was on the last page already, and to make it is
 * more than half of what a page costs. `Component` gets its input alone, as JSON data, and does not ask the clock; all of
 * the input is compared, so what is given is never older than it.
 */
export function keepHtml<P extends object>(Component: (input: P) => JSX.Element): (input: P) => JSX.Element {
  const kept = new RecentMap<string, ReturnType<typeof raw>>(mostKept);
  return (props) => {
    const input = JSON.stringify(props);
    if (input.length > longestInput) return <Component {...props} />;
    // What is put together piece by piece stays a tree of its pieces. Read back from bytes it is one piece.
    const html = kept.get(input) ?? raw(Buffer.from(String(<Component {...props} />)).toString());
    kept.set(input, html);
    return <>{html}</>;
  };
}
