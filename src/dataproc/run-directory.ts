import { constants } from 'node:fs'
import { lstat, mkdir, open, rm, symlink } from 'node:fs/promises'
import { removeTree } from './disk-usage.js'
import type { Isolation, RunDirs } from './isolation.js'
import {
  applicationPath,
  type DataprocLayout,
  modulePath,
  type RunPaths,
  runPaths,
  sessionModulePath,
  sessionPath,
} from './layout.js'

/** Run, its module and its session. */
interface RunIdentity {
  readonly runId: string
  readonly module: string
  /** null for a caller without a session: its `session` directory is removed with the run */
  readonly sessionId: string | null
}

/** Directory of a run and the permanent directories that it uses. */
export interface RunDirectory {
  readonly paths: RunPaths
  readonly dirs: RunDirs
  /**
   * path of the directory `output` as it was made, by an open handle: a run can put a link in its place, but
   * not change what the handle refers to
   */
  readonly outputDir: string
  /** Removes the run's own directory; permanent directories remain. */
  remove(): Promise<void>
}

/**
 * Creates the directory of a run. In namespaces `session` and `application` are empty directories on which
 * the permanent ones are mounted; without namespaces they are links to them.
 */
export async function makeRunDirectory(
  layout: DataprocLayout,
  { runId, module, sessionId }: RunIdentity,
  isolation: Isolation['kind'],
): Promise<RunDirectory> {
  const paths = runPaths(layout, runId)
  await mkdir(paths.root, { mode: 0o700 })
  try {
    const dirs = await fill(layout, { runId, module, sessionId }, paths, isolation)
    const output = await open(paths.output, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    return {
      paths,
      dirs,
      // Node has no openat(2); the kernel resolves this path from the handle
      outputDir: `/proc/self/fd/${output.fd}`,
      async remove() {
        await output.close()
        await removeTree(paths.root)
      },
    }
  } catch (error) {
    await removeTree(paths.root)
    throw error
  }
}

async function fill(
  layout: DataprocLayout,
  { module, sessionId }: RunIdentity,
  paths: RunPaths,
  isolation: Isolation['kind'],
): Promise<RunDirs> {
  for (const dir of [paths.input, paths.output, paths.work]) await mkdir(dir, { mode: 0o700 })
  const application = applicationPath(layout, module)
  await makeLasting(application)
  let session = paths.session
  if (sessionId !== null) {
    await makeLasting(sessionPath(layout, sessionId))
    session = sessionModulePath(layout, sessionId, module)
    await makeLasting(session)
  }
  await place(paths.session, session, isolation)
  await place(paths.application, application, isolation)
  const { root, work } = paths
  return { root, work, session, application, module: modulePath(layout, module) }
}

async function place(at: string, lasting: string, isolation: Isolation['kind']): Promise<void> {
  if (isolation === 'namespaces' || at === lasting) await mkdir(at, { mode: 0o700 })
  else await symlink(lasting, at)
}

/** Creates a permanent directory. A link in its place, which could lead to other files, is replaced. */
async function makeLasting(dir: string): Promise<void> {
  try {
    await mkdir(dir, { mode: 0o700 })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    if ((await lstat(dir)).isDirectory()) return
    await rm(dir)
    await mkdir(dir, { mode: 0o700 })
  }
}
