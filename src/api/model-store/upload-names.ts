/**
 * Names of the methods whose params come beside a file, in `POST …/upload/<method>` and in resumable uploads. The methods
 * with their shapes are in `upload-methods.ts`.
 */
export const UPLOAD_NAMES = [
  'model_store.model.put',
  'model_store.model.put_aggregated',
  'model_store.model.put_feedback',
] as const
