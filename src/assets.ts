import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * Files that belong to the program: the SQLite addon, the console's files.
 *
 * In the single executable the files are inside it; otherwise they lie beside `dist/fieldgate.cjs`. Names are
 * the same in both: paths from `dist/`, with slashes (`console/index.html`).
 */
interface Assets {
  read(name: string): Buffer | undefined
  list(): string[]
}

/**
 * Reads a file of the program. In the executable it is no copy: do not write into it.
 *
 * @returns undefined when there is none of this name
 */
export function readAsset(name: string): Buffer | undefined {
  return isPlainName(name) ? assets().read(name) : undefined
}

/**
 * Lists the names of the program's files, sorted.
 *
 * @param prefix beginning of the names, such as `console/`
 */
export function listAssets(prefix: string): string[] {
  return assets()
    .list()
    .filter((name) => name.startsWith(prefix))
    .sort()
}

/** True in the single executable, false in the bundle that Node runs. */
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
    // a Buffer over the pages of the executable, which are read from disk when they are accessed
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

/**
 * Folder of the bundle. `__dirname` exists in the CommonJS bundle only; tests use the output of the last
 * build.
 */
function programDir(): string {
  return typeof __dirname === 'string' ? __dirname : path.resolve('dist')
}

/** True for a path below the program's folder. */
function isPlainName(name: string): boolean {
  return /^[\w.-]+(\/[\w.-]+)*$/.test(name) && !name.split('/').includes('..')
}
