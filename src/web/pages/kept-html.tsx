import { raw } from "hono/html";
import type { JSX } from "hono/jsx/jsx-runtime";
import { RecentMap } from "../../ground/recent-map.ts";

/** The most kept parts of each component, and the longest input of one part: some megabytes together. */
const mostKept = 500;
const longestInput = 10_000;

/** Most of a page was on the last page too. `Component` depends only on its input, JSON data, and on no clock. */
export function keepHtml<P extends object>(Component: (input: P) => JSX.Element): (input: P) => JSX.Element {
  const kept = new RecentMap<string, ReturnType<typeof raw>>(mostKept);
  return (props) => {
    const input = JSON.stringify(props);
    if (input.length > longestInput) return <Component {...props} />;
    // Joined strings stay a tree of their pieces in memory. Read back from bytes, the HTML is one piece.
    const html = kept.get(input) ?? raw(Buffer.from(String(<Component {...props} />)).toString());
    kept.set(input, html);
    return <>{html}</>;
  };
}
