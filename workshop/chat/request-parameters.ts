import { badRequest } from "./refusal.ts";

/** A method's parameters, wherever they stood: query, JSON body, form or multipart. */
export interface Parameters {
  text(name: string): string | undefined;
  integer(name: string): number | undefined;
  flag(name: string): boolean;
  /** An object or array; in forms it arrives as JSON text. */
  json(name: string): unknown;
  /** Of a multipart form. */
  file(name: string): UploadedFile | undefined;
  /** For inspection: as received, but of a file only its name, type and size. */
  readonly all: Readonly<Record<string, unknown>>;
}

export interface UploadedFile {
  filename: string;
  contentType: string;
  bytes: Uint8Array;
}

/** Throws a refusal for a body that is not what its content type says. */
export async function readParameters(query: URLSearchParams, contentType: string, body: Buffer): Promise<Parameters> {
  const files = new Map<string, UploadedFile>();
  const given = await readBody(contentType, body, files);
  return createParameters({ ...Object.fromEntries(query), ...given }, files);
}

async function readBody(
  contentType: string,
  body: Buffer,
  files: Map<string, UploadedFile>,
): Promise<Record<string, unknown>> {
  if (body.length === 0) return {};
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "application/json") {
    const value = parseJson(body.toString("utf8"));
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw badRequest("can't parse JSON object");
    }
    return value as Record<string, unknown>;
  }
  if (type === "application/x-www-form-urlencoded") {
    return Object.fromEntries(new URLSearchParams(body.toString("utf8")));
  }
  if (type === "multipart/form-data") {
    const form = await new Response(new Uint8Array(body), { headers: { "content-type": contentType } })
      .formData()
      .catch(() => {
        throw badRequest("can't parse multipart form");
      });
    const entries: [string, unknown][] = [];
    form.forEach((value, name) => {
      entries.push([name, value]);
    });
    const read = entries.map(async ([name, value]) => {
      if (!(value instanceof Blob)) return [name, value] as const;
      const { name: filename = "", type } = value as Blob & { name?: string };
      files.set(name, { filename, contentType: type, bytes: new Uint8Array(await value.arrayBuffer()) });
      return [name, { filename, contentType: type, size: value.size }] as const;
    });
    return Object.fromEntries(await Promise.all(read));
  }
  return {};
}

/** @param files what of them was uploaded, by its field */
export function createParameters(
  all: Record<string, unknown>,
  files: ReadonlyMap<string, UploadedFile> = new Map(),
): Parameters {
  const text = (name: string): string | undefined => {
    const value = all[name];
    if (value === undefined || value === null) return undefined;
    return typeof value === "string" ? value : typeof value === "object" ? undefined : String(value);
  };
  return {
    all,
    text,
    file: (name) => files.get(name),
    integer(name) {
      const value = text(name);
      return value !== undefined && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
    },
    flag(name) {
      return /^(true|1|yes)$/i.test(text(name) ?? "");
    },
    json(name) {
      const value = all[name];
      return typeof value === "string" && value !== "" ? parseJson(value, name) : (value ?? undefined);
    },
  };
}

function parseJson(source: string, name?: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    throw badRequest(name === undefined ? "can't parse JSON object" : `can't parse ${name} JSON object`);
  }
}
