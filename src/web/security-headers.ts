const twoYearsS = 2 * 365 * 24 * 60 * 60;

/** No other site's resources, no inline code, and no frame may hold the page. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "script-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** For every answer except the hook's. A plain list: probes are answered before the framework is loaded. */
export function securityHeaders(isHttps: boolean): Record<string, string> {
  return {
    "content-security-policy": contentSecurityPolicy,
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "origin-agent-cluster": "?1",
    "referrer-policy": "no-referrer",
    ...(isHttps && { "strict-transport-security": `max-age=${twoYearsS}` }),
    "x-content-type-options": "nosniff",
    "x-dns-prefetch-control": "off",
    "x-download-options": "noopen",
    "x-frame-options": "DENY",
    "x-permitted-cross-domain-policies": "none",
    "x-xss-protection": "0",
  };
}
