type ParsedForm = Record<string, string | File | (string | File)[]>;

/** One text field of a form, trimmed; empty when it is missing. */
export function readField(form: ParsedForm, name: string): string {
  return readFields(form, name)[0] ?? "";
}

/** All values of a field that may be given several times. */
export function readFields(form: ParsedForm, name: string): string[] {
  const given = form[name];
  const values = Array.isArray(given) ? given : [given];
  return values.filter((value) => typeof value === "string").map((value) => value.trim());
}
