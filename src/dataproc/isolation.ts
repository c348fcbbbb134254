import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { removeTree } from './disk-usage.js'

/** A program with its arguments; no shell reads them. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
}

/** Directories that a run works with, as the gateway sees them. */
export interface RunDirs {
  /** the run's own directory, and its working directory */
  readonly root: string
  readonly work: string
  readonly session: string
  readonly application: string
  /** read only behind walls */
  readonly module: string
}

/** How runs are kept apart. */
export interface Isolation {
  /** `none`: a run is a process of the gateway's user, and may look at whatever that user may */
  readonly kind: 'namespaces' | 'none'
  /** false where a run has no `/proc` of its own and sees the system's: names of processes, and nothing within them */
  readonly hasOwnProc: boolean
  /** why it is not `namespaces`; null when it is, or when nobody asked */
  readonly reason: string | null
  /** program that sets the kernel's limits; undefined where it is not there, or may not (systemd may forbid it) */
  readonly prlimit: string | undefined
  /** @returns what sets the walls up, and then becomes the command */
  wrap(command: Command, dirs: RunDirs): Command
}

/**
 * Run as root of a fresh user namespace. The data directory becomes an empty one in which only the run's own directory and
 * the module are left, at their usual places; what else is hidden is covered one by one. On the run's `session` and `application` the lasting directories are laid. What
 * the mounts come from may be `nosuid` and `nodev` for good, so both are said again where they are changed; `bind` changes the
 * mount and leaves the file system's own options alone, which name users that are not known within. The second user
 * namespace gives the usual user back and locks the mounts: what covers the rest cannot be taken away from within. The only
 * shell there is reads this text, never a caller's.
 *
 * @see user_namespaces(7), mount_namespaces(7): "mounts that come as a single unit from a more privileged mount are locked"
 */
const WALLS = `set -e
data=$1 run=$2 stage=$3 session=$4 application=$5 module=$6 uid=$7 gid=$8
shift 8
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mount -t tmpfs -o mode=0700 tmpfs "$1"; elif [ -e "$1" ]; then mount --bind /dev/null "$1"; fi
  shift
done
shift
mount -t tmpfs -o mode=0700 tmpfs "$stage"
mkdir "$stage/run" "$stage/module"
mount --bind "$run" "$stage/run"
mount --bind "$session" "$stage/run/session"
mount --bind "$application" "$stage/run/application"
mount --bind "$module" "$stage/module"
mount -o remount,bind,ro,nosuid,nodev "$stage/module"
cd "$stage"
mount -t tmpfs -o mode=0755 tmpfs "$data"
mkdir -p "$run" "$module"
mount --rbind ./run "$run"
mount --rbind ./module "$module"
mount -o remount,bind,ro,nosuid,nodev "$data"
cd "$run"
exec unshare --user --mount --map-user="$uid" --map-group="$gid" -- "$@"`

/** A PID namespace besides: when its first process ends, the kernel ends all others, wherever they hide. */
const UNSHARE = '--user --map-root-user --mount --pid --fork --kill-child --propagation private'.split(' ')

/**
 * Where parts of `/proc` are covered, as in the sandbox of a systemd unit, the kernel lets nobody mount another one. The old one then
 * stays: of processes outside its user namespace a run may see numbers and command lines there (under `ProtectProc=invisible` not
 * even those), but it may not follow their `root`, `cwd` or files.
 *
 * @see mount_too_revealing() in fs/namespace.c, cap_ptrace_access_check() in security/commoncap.c of Linux
 */
const WAYS = [
  { hasOwnProc: true, unshareArgs: [...UNSHARE, '--mount-proc'] },
  { hasOwnProc: false, unshareArgs: UNSHARE },
]

const TRIAL_MS = 20_000

export interface IsolationOptions {
  readonly mode: 'auto' | 'namespaces' | 'none'
  /** hidden from runs */
  readonly dataDir: string
  /** files and directories elsewhere that are hidden too, absolute; those that are not there do no harm */
  readonly hidden: readonly string[]
  /** in the data directory; for the trial */
  readonly scratchDir: string
  readonly searchPath: string
}

/**
 * Finds out what the system allows, by trying it.
 *
 * @throws Error when namespaces are asked for and cannot be had
 */
export async function findIsolation(options: IsolationOptions): Promise<Isolation> {
  const { mode, scratchDir } = options
  const prlimit = await findPrlimit(options.searchPath)
  const open = { kind: 'none' as const, hasOwnProc: false, prlimit, wrap: (command: Command) => command }
  if (mode === 'none') return { ...open, reason: null }
  const dataDir = await realpath(options.dataDir)
  // what holds the data directory cannot be covered without it
  const hidden = options.hidden.filter((one) => path.relative(one, dataDir).startsWith('..'))
  const reasons: string[] = []
  for (const { hasOwnProc, unshareArgs } of WAYS) {
    const wrap = wallsAround({ dataDir, hidden }, unshareArgs)
    const reason = await tryWalls(wrap, dataDir, path.join(scratchDir, randomUUID()))
    if (reason === null) return { kind: 'namespaces', hasOwnProc, reason, prlimit, wrap }
    reasons.push(reason)
  }
  const reason = [...new Set(reasons)].join('; without a /proc of its own: ')
  if (mode === 'auto') return { ...open, reason }
  throw new Error(`dataproc.isolation: namespaces cannot be had: ${reason}`)
}

function wallsAround(
  { dataDir, hidden }: Pick<IsolationOptions, 'dataDir' | 'hidden'>,
  unshareArgs: readonly string[],
): Isolation['wrap'] {
  return ({ file, args }, { root, work, session, application, module }) => {
    const ids = [process.getuid?.() ?? 0, process.getgid?.() ?? 0].map(String)
    const walls = [dataDir, root, work, session, application, module, ...ids, ...hidden, '--']
    return { file: 'unshare', args: [...unshareArgs, '--', 'sh', '-c', WALLS, 'sh', ...walls, file, ...args] }
  }
}

/** @returns null when it works, else why not */
async function tryWalls(wrap: Isolation['wrap'], dataDir: string, dir: string): Promise<string | null> {
  const below = (name: string) => path.join(dir, name)
  const root = below('root')
  const dirs = {
    root,
    work: path.join(root, 'work'),
    session: below('s'),
    application: below('a'),
    module: below('m'),
  }
  try {
    for (const name of ['work', 'session', 'application'])
      await mkdir(path.join(root, name), { recursive: true })
    for (const name of ['s', 'a', 'm']) await mkdir(below(name))
    const trial = `test ! -e "$1" && ! umount "$2" 2>/dev/null`
    const { file, args } = wrap({ file: 'sh', args: ['-c', trial, 'sh', below('s'), dataDir] }, dirs)
    await promisify(execFile)(file, [...args], { timeout: TRIAL_MS })
    return null
  } catch (error) {
    return told(error)
  } finally {
    await removeTree(dir)
  }
}

/** What the programs said; the message holds the whole script besides. */
function told(error: unknown): string {
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
  if (said !== '') return said.replace(/\s+/g, ' ').slice(0, 300)
  const code = error instanceof Error && 'code' in error ? `: ${String(error.code)}` : ''
  return `the trial failed${code}`
}

async function findPrlimit(searchPath: string): Promise<string | undefined> {
  const file = findProgram('prlimit', searchPath)
  if (file === undefined) return undefined
  try {
    await promisify(execFile)(file, ['--core=0', '--', 'true'], { timeout: TRIAL_MS })
    return file
  } catch {
    return undefined // limits are watched all the same
  }
}

/** The full path of a program; undefined when there is none of the name. */
function findProgram(name: string, searchPath: string): string | undefined {
  return searchPath
    .split(':')
    .filter((dir) => path.isAbsolute(dir))
    .map((dir) => path.join(dir, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}
