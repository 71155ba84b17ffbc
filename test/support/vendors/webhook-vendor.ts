import { Webhook } from "standardwebhooks";
import { createHttpVendor, text, type VendorAnswer } from "./http-vendor.ts";

/** A receiver that follows Standard Webhooks: verifies with the reference library and does its work once per id. */
export async function createWebhookVendor() {
  const secret = "whsec_Y2FuYXJ5V2ViaG9va1NpZ25pbmdTZWNyZXRYWFg=";
  const path = "/in/canaryWebhookPathXXXXXXXX?key=canaryQueryXXXXXXXX";
  /** Bodies that were worked on: one per `webhook-id`. */
  const seen: { id: string; body: string }[] = [];
  const vendor = await createHttpVendor((request): VendorAnswer => {
    if (request.path !== path) return text(404, "not found");
    if (request.body.length > 1_048_576) return text(413, "too large");
    try {
      new Webhook(secret).verify(request.body, request.headers);
    } catch {
      return text(401, "bad signature");
    }
    const id = request.headers["webhook-id"] ?? "";
    if (!seen.some((other) => other.id === id)) seen.push({ id, body: request.body });
    return { status: 204 };
  });
  return { ...vendor, secret, path, seen };
}
