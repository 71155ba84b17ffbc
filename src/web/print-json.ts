/** Deeper levels are not indented further, so that a deeply nested body cannot grow a thousandfold. */
const deepestIndent = 32;

/**
 * JSON laid out for reading, token by token as it was sent: no number loses a digit, no key its order or its double.
 * Undefined when the text is not JSON.
 */
export function printJson(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const out: string[] = [];
  let depth = 0;
  const newLine = () => out.push("\n", "  ".repeat(Math.min(depth, deepestIndent)));
  // A string, a run of anything else that holds no structure, or one structural character. It is valid JSON by now.
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"{}[\],:]+|[{}[\],:]/g)) {
    const previous = out.at(-1);
    switch (token) {
      case "{":
      case "[":
        out.push(token);
        depth += 1;
        newLine();
        break;
      case "}":
      case "]":
        depth -= 1;
        if (isIndent(previous) && (out.at(-3) === "{" || out.at(-3) === "[")) out.splice(-2);
        else newLine();
        out.push(token);
        break;
      case ",":
        out.push(token);
        newLine();
        break;
      case ":":
        out.push(": ");
        break;
      default:
        out.push(token);
    }
  }
  return out.join("");
}

function isIndent(token: string | undefined): boolean {
  return token !== undefined && /^ *$/.test(token);
}
