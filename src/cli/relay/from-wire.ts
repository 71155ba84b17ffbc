const instantName = /(?:At|^at|^since|^until)$/;
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** An answer of the API as the program has it: instants as epoch milliseconds, and nothing where it says null. */
export function fromWire<View>(answer: unknown): View {
  return JSON.parse(JSON.stringify(answer), (name, value) => {
    if (value === null) return undefined;
    return typeof value === "string" && instantName.test(name) && iso.test(value) ? Date.parse(value) : value;
  });
}
