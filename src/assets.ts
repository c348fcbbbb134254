import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * What the program carries beside its code: the SQLite addon, the console's files.
 *
 * In the single executable the files are inside it; otherwise they lie beside `dist/fieldgate.cjs`. Names are the same
 * in both: paths from `dist/`, with slashes (`console/index.html`).
 */
interface Assets {
  read(name: string): Buffer | undefined
  list(): string[]
}

/**
 * One file that the program carries. In the executable no copy is made: do not write into it.
 *
 * @returns undefined when there is none of this name
 */
export function readAsset(name: string): Buffer | undefined {
  return isPlainName(name) ? assets().read(name) : undefined
}

/**
 * Names of the files that the program carries, sorted.
 *
 * @param prefix only those that begin so, for instance `console/`
 */
export function listAssets(prefix: string): string[] {
  return assets()
    .list()
    .filter((name) => name.startsWith(prefix))
    .sort()
}

/** Tells the single executable from the bundle that a Node runs. */
export function isSingleExecutable(): boolean {
  return sea() !== undefined
}

type Sea = typeof import('node:sea')

let opened: Assets | undefined

function assets(): Assets {
  if (opened === undefined) {
    const embedded = sea()
    opened = embedded === undefined ? assetsBeside(programDir()) : assetsInside(embedded)
  }
  return opened
}

function assetsInside(embedded: Sea): Assets {
  const names = new Set(embedded.getAssetKeys())
  return {
    // a Buffer over the executable's own pages: nothing is read before it is looked at
    read: (name) => (names.has(name) ? Buffer.from(embedded.getRawAsset(name) as ArrayBuffer) : undefined),
    list: () => [...names],
  }
}

function assetsBeside(dir: string): Assets {
  return {
    read(name) {
      const file = path.join(dir, name)
      return statSync(file, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(file) : undefined
    },
    list() {
      if (!existsSync(dir)) return []
      return readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.relative(dir, path.join(entry.parentPath, entry.name)))
    },
  }
}

/** `node:sea` when this is the single executable. */
function sea(): Sea | undefined {
  const found = process.getBuiltinModule('node:sea')
  return found.isSea() ? found : undefined
}

/** `__dirname` exists in the CommonJS bundle only; under the test loader what the build wrote is used. */
function programDir(): string {
  return typeof __dirname === 'string' ? __dirname : path.resolve('dist')
}

/** Nothing above or outside the program's folder has a name. */
function isPlainName(name: string): boolean {
  return /^[\w.-]+(\/[\w.-]+)*$/.test(name) && !name.split('/').includes('..')
}
