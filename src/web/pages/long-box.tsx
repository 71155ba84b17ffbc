import type { PropsWithChildren } from "hono/jsx";
import { groupThousands } from "../../ground/numbers/format-number.ts";

const shownLines = 20;
const shownCharacters = 1_500;

/** Shows the beginning of a long text, with a box to tick for the rest. Works without a script. `name` is unique. */
export function LongBox({ name, text, children }: PropsWithChildren<{ name: string; text: string }>) {
  const lines = text.split("\n").length;
  if (lines <= shownLines && text.length <= shownCharacters) return <>{children}</>;
  const size = lines > shownLines ? `${groupThousands(lines)} lines` : `${groupThousands(text.length)} characters`;
  return (
    <div class="long">
      <label class="check">
        <input type="checkbox" aria-label={`Show all of ${name}`} /> <span>Show all {size}</span>
      </label>
      <div class="long-text">{children}</div>
    </div>
  );
}
