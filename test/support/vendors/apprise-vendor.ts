import { createHttpVendor, json, parseObject, text, type VendorAnswer } from "./http-vendor.ts";

export type AppriseMessage = { title: string; body: string; type: string; tag?: string; urls?: string };

/** Refuses as the Apprise API does; a body above 32 KiB is more than its services take. */
export async function createAppriseVendor() {
  const key = "canary-apprise-key-XXXXXXXX";
  /** What each service was sent. */
  const sent: AppriseMessage[] = [];
  const vendor = await createHttpVendor((request): VendorAnswer => {
    if (request.path === "/status") return text(200, "OK");
    const notified = /^\/notify\/([^/]*)$/.exec(request.path);
    if (notified === null) return text(404, "<h1>Not Found</h1>");
    if (request.method !== "POST") return text(405, "");
    const payload = parseObject(request.body);
    if (payload === undefined) return json(400, { error: "Invalid JSON provided" });
    const { title = "", body = "", type = "info", urls, tag } = payload as Record<string, string | undefined>;
    if (body === "") return json(400, { error: "Payload lacks minimum requirements" });
    if (!["info", "success", "warning", "failure"].includes(type)) return json(400, { error: "Invalid type" });
    if (body.length > 32_768) return json(413, { error: "Payload too large" });
    const known = notified[1] === "" ? urls?.includes("://") === true : notified[1] === key;
    if (!known) return { status: 204 };
    sent.push({ title, body, type, ...(tag !== undefined && { tag }), ...(urls !== undefined && { urls }) });
    return json(200, { error: null, details: [] });
  });
  return { ...vendor, key, sent };
}
