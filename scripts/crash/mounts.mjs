import { spawnSync } from 'node:child_process'

/**
 * Runs this script once more in a mount namespace of its own, where it may have one, and exits as that did. A
 * program that makes a namespace meanwhile (a module's walls, a package's test) copies the mounts that it finds,
 * and a file system that is mounted in a copy does not end with `umount`: after a power cut it comes back as it was
 * shut down, and each read of it fails.
 */
export function ownMounts() {
  if (process.env.CRASH_OWN_MOUNTS === '1' || process.getuid() !== 0) return
  const unshare = ['--mount', '--propagation', 'private']
  if (spawnSync('unshare', [...unshare, 'true']).status !== 0) return
  const { status } = spawnSync('unshare', [...unshare, process.execPath, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...process.env, CRASH_OWN_MOUNTS: '1' },
  })
  process.exit(status ?? 1)
}
