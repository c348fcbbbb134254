import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { accessSync, constants, existsSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { removeTree } from './disk-usage.js'

/** Program with its arguments; no shell interprets them. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
}

/** Directories of a run, as paths of the gateway. */
export interface RunDirs {
  /** the run's own directory, and its working directory */
  readonly root: string
  readonly work: string
  readonly session: string
  readonly application: string
  /** read-only in namespaces */
  readonly module: string
}

/** Isolation of runs. */
export interface Isolation {
  /** `none`: a run is a process of the gateway's user and can read everything that this user can */
  readonly kind: 'namespaces' | 'none'
  /**
   * false where a run sees the system's `/proc`: process ids and command lines, but not the contents of
   * processes
   */
  readonly hasOwnProc: boolean
  /** true where a run has no network, not even the gateway's on 127.0.0.1 */
  readonly hasOwnNetwork: boolean
  /** reason why it is not `namespaces`; null when it is, or when the setting is `none` */
  readonly reason: string | null
  /**
   * program that sets the kernel's limits; undefined where it is missing or not permitted (systemd may forbid
   * it)
   */
  readonly prlimit: string | undefined
  /** Returns a command that sets up the isolation and then executes the given one. */
  wrap(command: Command, dirs: RunDirs): Command
}

/**
 * Script that sets up the mounts, run as root of a new user namespace. It replaces the data directory by an
 * empty one that holds only the run's directory and the module, at their usual paths, and covers the other
 * hidden paths one by one. `/tmp`, `/var/tmp` and `/dev/shm` are directories of the run: what is written there
 * counts towards its disk limit and is removed with it. It mounts the permanent directories on the run's `session` and `application`. The
 * source mounts may be locked as `nosuid` and `nodev`, so remounts repeat both; `bind` changes the mount
 * alone and not the options of the file system, which may name users unknown in the namespace. The second
 * user namespace restores the usual user and locks the mounts: a run cannot unmount the covers. The only text
 * that a shell interprets is this one, never a caller's.
 *
 * @see user_namespaces(7), mount_namespaces(7): "mounts that come as a single unit from a more privileged
 *   mount are locked"
 */
const WALLS = `set -e
data=$1 run=$2 stage=$3 session=$4 application=$5 module=$6 uid=$7 gid=$8
shift 8
while [ "$1" != -- ]; do
  mkdir -p "$run/.private$1"
  mount --bind "$run/.private$1" "$1"
  shift
done
shift
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

/** Includes a PID namespace: when its first process ends, the kernel kills all others in it. */
const UNSHARE = '--user --map-root-user --mount --pid --fork --kill-child --propagation private'.split(' ')

/**
 * Ways to isolate, the stronger one first. Where parts of `/proc` are covered, as in the sandbox of a systemd
 * unit, the kernel refuses a new `/proc`. With the old one a run can see ids and command lines of processes
 * outside its user namespace (not even those under `ProtectProc=invisible`), but cannot follow their `root`,
 * `cwd` or files.
 *
 * @see mount_too_revealing() in fs/namespace.c, cap_ptrace_access_check() in security/commoncap.c of Linux
 */
const WAYS = [
  { hasOwnProc: true, hasOwnNetwork: true, unshareArgs: [...UNSHARE, '--net', '--mount-proc'] },
  { hasOwnProc: false, hasOwnNetwork: true, unshareArgs: [...UNSHARE, '--net'] },
  { hasOwnProc: true, hasOwnNetwork: false, unshareArgs: [...UNSHARE, '--mount-proc'] },
  { hasOwnProc: false, hasOwnNetwork: false, unshareArgs: UNSHARE },
]

/** Directories that every program may write to, which runs have of their own. */
const SHARED_DIRS = ['/tmp', '/var/tmp', '/dev/shm']

const TRIAL_MS = 20_000

export interface IsolationOptions {
  readonly mode: 'auto' | 'namespaces' | 'none'
  /** `host`: runs use the network of the device */
  readonly network: 'none' | 'host'
  /** files and directories that runs need and that must not be covered, such as Node and the modules */
  readonly needed: readonly string[]
  /** directory to hide from runs */
  readonly dataDir: string
  /** other files and directories to hide, absolute; they need not exist */
  readonly hidden: readonly string[]
  /** directory of the trial, in the data directory */
  readonly scratchDir: string
  readonly searchPath: string
}

/**
 * Finds the strongest isolation that the system allows, by trial.
 *
 * @throws Error when the mode is `namespaces` and they cannot be created
 */
export async function findIsolation(options: IsolationOptions): Promise<Isolation> {
  const { mode, scratchDir } = options
  const prlimit = await findPrlimit(options.searchPath)
  const unwalled = { hasOwnProc: false, hasOwnNetwork: false }
  const open = { kind: 'none' as const, ...unwalled, prlimit, wrap: (command: Command) => command }
  if (mode === 'none') return { ...open, reason: null }
  const dataDir = await realpath(options.dataDir)
  // a directory above the data directory cannot be covered without covering that, too
  const hidden = options.hidden.filter((one) => path.relative(one, dataDir).startsWith('..'))
  const own = SHARED_DIRS.filter((dir) => canCover(dir, [dataDir, ...options.needed]))
  const reasons: string[] = []
  for (const { hasOwnProc, hasOwnNetwork, unshareArgs } of WAYS) {
    if (hasOwnNetwork && options.network === 'host') continue
    const wrap = wallsAround({ dataDir, hidden, own }, unshareArgs)
    const reason = await tryWalls(wrap, dataDir, path.join(scratchDir, randomUUID()))
    if (reason === null) return { kind: 'namespaces', hasOwnProc, hasOwnNetwork, reason, prlimit, wrap }
    reasons.push(reason)
  }
  const reason = [...new Set(reasons)].join('; without a /proc of its own: ')
  if (mode === 'auto') return { ...open, reason }
  throw new Error(`dataproc.isolation: namespaces cannot be created: ${reason}`)
}

/** True for an existing directory that holds none of the paths that runs need. */
function canCover(dir: string, needed: readonly string[]): boolean {
  return existsSync(dir) && needed.every((one) => path.relative(dir, one).startsWith('..'))
}

function wallsAround(
  { dataDir, hidden, own }: Pick<IsolationOptions, 'dataDir' | 'hidden'> & { own: readonly string[] },
  unshareArgs: readonly string[],
): Isolation['wrap'] {
  return ({ file, args }, { root, work, session, application, module }) => {
    const ids = [process.getuid?.() ?? 0, process.getgid?.() ?? 0].map(String)
    const walls = [dataDir, root, work, session, application, module, ...ids, ...own, '--', ...hidden, '--']
    return { file: 'unshare', args: [...unshareArgs, '--', 'sh', '-c', WALLS, 'sh', ...walls, file, ...args] }
  }
}

/** Tries an isolation. @returns null when it works, else the reason */
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
    return failureOf(error)
  } finally {
    await removeTree(dir)
  }
}

/** Returns the output of the failed program: the message of the error holds the whole script, too. */
function failureOf(error: unknown): string {
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
    return undefined // the limits are also watched by polling
  }
}

/** Returns the full path of a program; undefined when the search path has none with this name. */
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
