import { existsSync } from 'node:fs'
import path from 'node:path'

/**
 * The SQLite addon beside the bundle, or undefined when the package's own lookup should find it.
 *
 * esbuild cannot carry a native addon: `npm run build` puts `better_sqlite3.node` beside `fieldgate.cjs`, and the
 * addon object is handed to better-sqlite3, because its lookup by package path does not work inside a bundle.
 */
export function nativeBinding(): object | undefined {
  const file = process.env.FIELDGATE_SQLITE_ADDON ?? beside('better_sqlite3.node')
  if (file === undefined || !existsSync(file)) return undefined
  const known = loaded.get(file)
  if (known !== undefined) return known
  const addon = { exports: {} }
  process.dlopen(addon, file)
  loaded.set(file, addon.exports)
  return addon.exports
}

const loaded = new Map<string, object>()

/** `__dirname` exists in the CommonJS bundle only; under the test loader the package lookup is right. */
function beside(name: string): string | undefined {
  return typeof __dirname === 'string' ? path.join(__dirname, name) : undefined
}
