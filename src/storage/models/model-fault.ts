import type { NewModel } from './models.js'

/** Returns why a row cannot be shown; null if it can. */
export function modelFault(
  row: Pick<NewModel, 'sha256' | 'md5' | 'meta'> & { chain: string },
): string | null {
  if (!/^[0-9a-f]{64}$/.test(row.sha256)) return 'its SHA-256 is not 64 hex digits'
  if (!/^[0-9a-f]{32}$/.test(row.md5)) return 'its MD5 is not 32 hex digits'
  if (!isJson(row.meta, (value) => typeof value === 'object' && value !== null && !Array.isArray(value)))
    return 'its model_meta is not a JSON object'
  if (!isJson(row.chain, (value) => Array.isArray(value) && value.every((id) => typeof id === 'string')))
    return 'its chain is not a JSON array of node ids'
  return null
}

function isJson(text: string, fits: (value: unknown) => boolean): boolean {
  try {
    return fits(JSON.parse(text))
  } catch {
    return false
  }
}
