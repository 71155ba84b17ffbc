export type Parameters = ReturnType<typeof createParameters>;

/** @throws Refusal for a body that does not match its content type */
export async function readParameters(contentType: string, body: Buffer): Promise<Parameters> {
  if (body.length === 0) return createParameters({});
  if (contentType.startsWith("application/json")) return createParameters(parseObject(body.toString()));
  if (!contentType.startsWith("multipart/form-data")) throw new Refusal(415, "the stand-in reads JSON and multipart");
  const answer = new Response(new Uint8Array(body), { headers: { "content-type": contentType } });
  const form = await answer.formData().catch(() => {
    throw badRequest("can't parse multipart form");
  });
  const fields: [string, string | File][] = [];
  form.forEach((value, name) => {
    fields.push([name, value]);
  });
  return createParameters(Object.fromEntries(fields));
}

/** The parameters of a method, from JSON or from a multipart form, the forms that Tocsin sends. */
export function createParameters(all: Record<string, unknown>) {
  const text = (name: string) => {
    const value = all[name];
    return value === undefined || value === null || typeof value === "object" ? undefined : String(value);
  };
  const shown = ([name, value]: [string, unknown]) => [
    name,
    value instanceof File ? { filename: value.name, contentType: value.type, size: value.size } : value,
  ];
  return {
    /** For inspection: as received, with only name, type and size of a file. */
    all: Object.fromEntries(Object.entries(all).map(shown)),
    text,
    integer(name: string): number | undefined {
      const value = text(name);
      return value !== undefined && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
    },
    flag: (name: string) => text(name) === "true",
    /** An object or a list. In a form it is JSON text. */
    json(name: string): unknown {
      const value = all[name];
      return typeof value === "string" ? parseJson(value, `can't parse ${name} JSON object`) : (value ?? undefined);
    },
    file(name: string): File | undefined {
      const value = all[name];
      return value instanceof File ? value : undefined;
    },
  };
}

function parseObject(source: string): Record<string, unknown> {
  const value = parseJson(source, "can't parse JSON object");
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  throw badRequest("can't parse JSON object");
}

function parseJson(source: string, complaint: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    throw badRequest(complaint);
  }
}

/** A refusal of the Bot API. The descriptions are Telegram's own, literal where they are known. */
export class Refusal extends Error {
  readonly errorCode: number;
  readonly parameters?: { retry_after?: number; migrate_to_chat_id?: number };

  constructor(errorCode: number, description: string, parameters?: Refusal["parameters"]) {
    super(description);
    this.name = "Refusal";
    this.errorCode = errorCode;
    this.parameters = parameters;
  }
}

export function badRequest(description: string): Refusal {
  return new Refusal(400, `Bad Request: ${description}`);
}
