/** Makes and keeps the secrets that webhooks are signed with, and those that inbound deliveries are verified with. */
export type Secrets = {
  /** The stored form of a secret from someone else. */
  readonly seal: (secret: string) => string
  /** A new secret, `whsec_` and 32 bytes in base64, and its stored form. */
  readonly issue: () => { readonly secret: string; readonly sealed: string }
  /** Null if it was sealed with another key. */
  readonly open: (sealed: string) => string | null
  /** The same secret under the newest key: unchanged if it already is. Null if no key opens it. */
  readonly reseal: (sealed: string) => string | null
}
