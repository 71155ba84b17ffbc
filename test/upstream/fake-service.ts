import { createHttpVendor, json, text, type VendorRequest } from "../support/vendors/http-vendor.ts";

export interface SeenRequest extends VendorRequest {
  /** Path and query as they were sent. */
  target: string;
  query: Record<string, string>;
}

export type FakeAnswer =
  | { status?: number; json: unknown; headers?: Record<string, string> }
  | { status?: number; text: string; headers?: Record<string, string> }
  /** Reads the request, then closes the connection without a word. */
  | "reset"
  /** Never answers. */
  | "hang";

/** A server, until the test ends, that answers as `answer` says and remembers what it was asked. */
export async function startFakeService(
  answer: (request: SeenRequest, count: number) => FakeAnswer | Promise<FakeAnswer>,
) {
  const seen: SeenRequest[] = [];
  const { origin } = await createHttpVendor(async (asked) => {
    const { pathname, searchParams } = new URL(asked.path, "http://fake");
    const request = { ...asked, target: asked.path, path: pathname, query: Object.fromEntries(searchParams) };
    seen.push(request);
    const given = await answer(request, seen.length);
    if (typeof given === "string") return given === "hang" ? given : "close";
    const { status = 200, headers } = given;
    return "json" in given ? json(status, given.json, headers) : text(status, given.text, headers);
  });
  return { url: origin, seen };
}

export type FakeService = Awaited<ReturnType<typeof startFakeService>>;
