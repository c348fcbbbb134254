/** An act worth recording, for example the creation of a key. Contains no secret. */
export type AuditEvent = { readonly act: string } & Readonly<Record<string, string | number | null>>

/**
 * Acts of command-line programs, which have no log of their own, on their way to the log of the gateway. The
 * gateway writes each as a line with `audit: true`.
 */
export interface AuditNotes {
  note(event: AuditEvent): Promise<void>
  /**
   * Passes the noted acts to `write`, oldest first, and removes them.
   *
   * @param write called once per act; an error keeps all acts of this call
   */
  handOver(write: (event: AuditEvent & { atUs: number }) => void): Promise<void>
}
