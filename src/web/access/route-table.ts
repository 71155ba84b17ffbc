/**
 * `open`: anybody. `session`: a browser that has logged in; others are sent to the login. `token`: the admin token.
 * `token or session`: either; others get 401.
 */
export type Access = "open" | "session" | "token" | "token or session";

/** Every route there is, with the access it needs. The guard reads this table and refuses what does not stand in it. */
export const routeTable: Readonly<Record<string, Access>> = {
  "GET /": "session",
  "GET /alerts/:id": "session",
  "GET /alerts/:id/body": "session",
  "GET /alerts/:id/resend": "session",
  "POST /alerts/:id/resend": "session",
  "POST /alerts/:id/mute": "session",
  "POST /alerts/:id/release": "session",
  "GET /destinations": "session",
  "POST /destinations/:name/release": "session",
  "GET /resend": "session",
  "POST /resend": "session",
  "POST /destinations/:name/try": "session",
  "GET /mutes": "session",
  "POST /mutes": "session",
  "POST /mutes/:id/end": "session",
  "GET /setup": "session",
  "POST /setup": "session",
  "GET /api": "session",

  "GET /login": "open",
  "POST /login": "open",
  "POST /logout": "session",
  "GET /assets/:file": "open",

  "GET /api/openapi.json": "token or session",
  "GET /api/alerts": "token or session",
  "GET /api/alerts/:id": "token or session",
  "POST /api/alerts/:id/resend": "token or session",
  "POST /api/release": "token or session",
  "GET /api/resend": "token or session",
  "POST /api/resend": "token or session",
  "GET /api/status": "token or session",
  "GET /api/destinations": "token or session",
  "POST /api/destinations/:name/try": "token or session",
  "GET /api/mutes": "token or session",
  "POST /api/mutes": "token or session",
  "POST /api/mutes/preview": "token or session",
  "DELETE /api/mutes/:id": "token or session",
  "GET /api/stream": "token or session",

  "GET /healthz": "open",
  "GET /readyz": "open",
  "GET /metrics": "token",
};
