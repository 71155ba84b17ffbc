/** One server-sent event. */
export interface StreamEvent {
  /** `message` when the server names none. */
  type: string;
  data: string;
  /** What to resume by: the last id that was sent so far. */
  lastEventId?: string;
}

/**
 * Reads server-sent events (WHATWG HTML, 9.2.6). `onSign` is called for whatever arrives, comments among it, to know
 * that the other side is alive. Memory is bounded by the longest event.
 */
export async function* readEvents(
  stream: ReadableStream<Uint8Array>,
  onSign: () => void = () => {},
): AsyncGenerator<StreamEvent> {
  let type = "";
  let lastEventId: string | undefined;
  let data: string[] = [];
  for await (const line of readLines(stream, onSign)) {
    if (line === "") {
      if (data.length > 0) yield { type: type === "" ? "message" : type, data: data.join("\n"), lastEventId };
      type = "";
      data = [];
      continue;
    }
    const { name, value } = readField(line);
    if (name === "data") data.push(value);
    else if (name === "event") type = value;
    else if (name === "id" && !value.includes("\0")) lastEventId = value;
  }
}

/** One space after the colon belongs to the form; a line that begins with a colon is a comment. */
function readField(line: string): { name: string; value: string } {
  const colon = line.indexOf(":");
  if (colon === -1) return { name: line, value: "" };
  return { name: line.slice(0, colon), value: line.slice(colon + 1).replace(/^ /, "") };
}

/** Lines end in LF, CR or CRLF; a last line without its end is no line. */
async function* readLines(stream: ReadableStream<Uint8Array>, onSign: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    onSign();
    rest += decoder.decode(chunk, { stream: true });
    // A CR at the end may be half of a CRLF.
    const whole = rest.endsWith("\r") ? rest.slice(0, -1) : rest;
    const lines = whole.split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? "") + rest.slice(whole.length);
    yield* lines;
  }
}
