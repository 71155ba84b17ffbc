/** Names whose values are credentials of the sender's; they are kept as `***`. */
const credential = /authorization|cookie|api-?key|token|secret|password/i;

/** Header pairs in their order as JSON, with credentials masked. `rawHeaders` is Node's flat list of names and values. */
export function keepHeaders(rawHeaders: string[]): string {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    pairs.push([name, credential.test(name) ? "***" : (rawHeaders[index + 1] as string)]);
  }
  return JSON.stringify(pairs);
}
