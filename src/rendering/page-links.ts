/** The alert's page; undefined when nobody knows under which address Tocsin is reached. */
export function pageOfAlert(publicUrl: string | undefined, alertId: string): string | undefined {
  return publicUrl === undefined ? undefined : `${base(publicUrl)}/alerts/${encodeURIComponent(alertId)}`;
}

/** The log of all alerts. */
export function pageOfLog(publicUrl: string | undefined): string | undefined {
  return publicUrl === undefined ? undefined : `${base(publicUrl)}/`;
}

function base(publicUrl: string): string {
  return publicUrl.replace(/(?<!\/)\/+$/, "");
}
