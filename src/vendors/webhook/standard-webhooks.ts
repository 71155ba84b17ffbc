import { createHmac } from "node:crypto";
import { AppError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";

/** Signs one request; the body is signed as the bytes that are sent. */
export type SignWebhook = (id: string, timestampSeconds: number, body: string) => string;

/**
 * The signature of Standard Webhooks 1.0: `v1,` and the base64 HMAC-SHA256 over `id.timestamp.body`, with the key
 * that follows `whsec_` in base64.
 * @throws AppError `config_invalid` when the secret is not base64.
 */
export function createSigner(secret: Secret, definedAt: string): SignWebhook {
  const key = decodeKey(secret);
  if (key === undefined) {
    throw new AppError(
      "config_invalid",
      `${definedAt}: the webhook's signing secret is not whsec_ and base64`,
      {
        hint: "Make one with: echo whsec_$(openssl rand -base64 32)",
      },
    );
  }
  return (id, timestampSeconds, body) => {
    const mac = createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`, "utf8");
    return `v1,${mac.digest("base64")}`;
  };
}

function decodeKey(secret: Secret): Buffer | undefined {
  const text = secret.reveal().replace(/^whsec_/, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const key = Buffer.from(text, "base64");
  return key.length >= 16 ? key : undefined;
}
