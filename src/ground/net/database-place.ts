/** `tocsin at db.example.com:5432` for a PostgreSQL address, without user and password. Undefined for other texts. */
export function databasePlace(address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol)) return undefined;
  const host = url.searchParams.get("host") ?? (url.hostname || "localhost");
  const name = decodeText(url.pathname.slice(1)) || decodeText(url.username) || "its default";
  return `${name} at ${host}${url.port && `:${url.port}`}`;
}

/** The passwords in a PostgreSQL address: before its host, and in its query, where the driver looks too. */
export function databasePasswords(address = ""): string[] {
  if (!URL.canParse(address)) return [];
  const { password, searchParams } = new URL(address);
  return [decodeText(password), ...searchParams.getAll("password")].filter((text) => text !== "");
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
