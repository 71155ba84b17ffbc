/** What an account sends its alerts to. */
export interface Outputs {
  /** Null: to no webhook. May hold a secret. */
  webhookUrl: string | null;
  messengerChannelId: string | null;
}

/**
 * What an answer of the alerting service says of the account. A member that the answer does not state, or states in a
 * way that cannot be read, is absent: that is not the same as an output that is off.
 */
export interface AccountReading extends Partial<Outputs> {
  id?: string;
  name?: string;
  /** Epoch milliseconds. */
  keyExpiresAt?: number;
}

/** What can be asked of the service about the account. Every call may throw an `AppError` of an `upstream_…` code. */
export interface AccountService {
  /** Takes whatever of the answer can be read; throws when it is no account at all. */
  lookAtAccount(options?: { signal?: AbortSignal }): Promise<AccountReading>;
  /** An absent member stays as it is, `null` turns that output off. */
  setAlertOutputs(change: Partial<Outputs>, options?: { signal?: AbortSignal }): Promise<unknown>;
}

/** What the account was last made to send to by this relay's setup, or was found to send to: what it is held to. */
export interface Registration {
  accountId: string;
  /** How the outside reached this relay then: the webhook's address without `/hooks/` and the secret. */
  publicUrl: string;
  /** Setup has turned the webhook off, so that no alert is expected. */
  webhookOff?: boolean;
  /** Absent: the service did not say. */
  messengerChannelId?: string | null;
  /** Epoch milliseconds. */
  at: number;
}
