import { makeBundle, openBundle } from './bundle.js'
import { compareFiles } from './compare-files.js'
import { type SigningKey, trustedKeys } from './keys.js'
import { type ModelFiles, readModelFiles } from './model-files.js'
import { makeStatement, readStatement } from './statement.js'

/** Paths of version control, which other programs leave out of signatures too. */
const GIT_PATHS = ['.git', '.gitattributes', '.github', '.gitignore']

/** Largest bundle of a model in a directory, bytes: about 60,000 files. */
const MAX_DIRECTORY_BUNDLE_BYTES = 16 * 1024 * 1024

/**
 * Signs a model on disk. A model that is one file is listed as `.`, as other programs do, so that it may be
 * renamed.
 *
 * @param model file or directory
 * @param name name of the model in the statement
 * @param ignored paths below the model that are not signed, beside those of Git
 * @returns the text of the bundle
 * @throws Error for an empty directory, a link in it, and a file that cannot be read
 */
export async function signModel(
  model: string,
  key: SigningKey,
  { name, ignored }: { name: string; ignored: readonly string[] },
): Promise<string> {
  const ignoredPaths = [...GIT_PATHS, ...ignored]
  const { files, singleName } = await readModelFiles(model, isBelow(ignoredPaths))
  if (files.size === 0) throw new Error(`${model} holds no files: expected at least one`)
  const resources = [...files].map(([path, digest]) => ({
    name: singleName === undefined ? path : '.',
    digest,
  }))
  return makeBundle(makeStatement(name, resources, ignoredPaths), key)
}

/**
 * Verifies the signature of a model on disk.
 *
 * @param ignored paths below the model that the signature need not list: that of the signature itself
 * @returns number of the verified files
 * @throws AppError SIGNATURE_REFUSED with its reason; Error for a file that cannot be read
 */
export async function verifyModel(
  model: string,
  bundle: string,
  key: SigningKey,
  ignored: readonly string[],
): Promise<number> {
  const { payload } = openBundle(bundle, trustedKeys([key]), MAX_DIRECTORY_BUNDLE_BYTES)
  const statement = readStatement(payload)
  const found: ModelFiles = await readModelFiles(model, isBelow([...statement.ignoredPaths, ...ignored]))
  compareFiles(statement, found.files, found.singleName)
  return statement.resources.length
}

/** Reports whether a path is one of some paths, or below one. */
function isBelow(paths: readonly string[]): (path: string) => boolean {
  const set = new Set(paths)
  return (path) => {
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1))
      if (set.has(path.slice(0, end))) return true
    return false
  }
}
