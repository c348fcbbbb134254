/** Free space of the last week, an hour apart. */
export interface DiskSamples {
  /** Notes the free space; forgets what is older than a week, or of the future. */
  note(sample: { readonly atUs: number; readonly freeBytes: number }): Promise<void>
  /** Returns the samples in the order of their time. */
  list(): Promise<{ atUs: number; freeBytes: number }[]>
}
