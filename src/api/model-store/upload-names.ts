/**
 * Names of the methods whose params come beside a file, in `POST …/upload/<method>` and in resumable uploads. The methods
 * with their shapes are in `upload-methods.ts`.
 */
export const UPLOAD_NAMES = [
  'model_store.model.put',
  'model_store.model.put_aggregated',
  'model_store.model.put_feedback',
] as const

export type UploadName = (typeof UPLOAD_NAMES)[number]

export function isUploadName(name: string): name is UploadName {
  return UPLOAD_NAMES.some((known) => known === name)
}
