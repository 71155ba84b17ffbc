import { raw } from "hono/html";
import type { JSX } from "hono/jsx/jsx-runtime";

type Html = ReturnType<typeof raw>;

/**
 * A component whose HTML is made once for the same input: most of a page was on the last page already. `Component` gets
 * its input alone, as JSON data, and neither asks the clock nor waits for anything; all of the input is compared, so what
 * is given is never older than it. Whatever changes by itself (a time that has passed, a name that was learned) is input.
 *
 * @param most characters, of input and HTML together, that are kept; what was not asked for longest goes first.
 * @param markup an input that is a long text, such as a picture: compared as it stands, which takes a tenth of the time.
 */
export function keepHtml<P extends object>(
  Component: (input: P) => JSX.Element | Promise<JSX.Element>,
  most: number,
  markup?: keyof P,
): (input: P) => Html {
  const kept = new Map<string, Html>();
  let size = 0;

  function drop(input: string, html: Html): void {
    kept.delete(input);
    size -= input.length + html.length;
  }

  function inputOf(props: P): string {
    if (markup === undefined) return JSON.stringify(props);
    const { [markup]: text, ...rest } = props;
    return text === undefined ? JSON.stringify(rest) : `${JSON.stringify(rest)}${text}`;
  }

  return (props) => {
    const input = inputOf(props);
    const known = kept.get(input);
    if (known !== undefined) {
      kept.delete(input);
      kept.set(input, known);
      return known;
    }
    const html = raw(inOnePiece(String(Component(props))));
    // One alert may have a text as long as all others together.
    if (input.length + html.length > most / 10) return html;
    kept.set(input, html);
    size += input.length + html.length;
    for (const [oldest, itsHtml] of kept) {
      if (size <= most) break;
      drop(oldest, itsHtml);
    }
    return html;
  };
}

/**
 * What is put together piece by piece stays a tree of its pieces, which each page would walk anew, and takes several times the room of
 * its characters. Read back from bytes it is one piece.
 */
const inOnePiece = (text: string): string => Buffer.from(text).toString();
