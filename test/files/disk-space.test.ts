import { statfsSync } from 'node:fs'
import t from 'tap'
import { createDiskSpace } from '../../src/files/disk-space.js'
import { rejectsWith } from '../support/rejects-with.js'

t.test('disk space: DISK_FULL states the free and the required bytes', async (t) => {
  const dir = t.testdir()
  const { blocks, bsize } = statfsSync(dir)
  const all = blocks * bsize
  await createDiskSpace(dir, 0).require(1)
  await rejectsWith(t, createDiskSpace(dir, all * 2).require(0), 'DISK_FULL', {
    message: new RegExp(
      `^The disk has \\d+ bytes free, expected room for the reserve of ${all * 2}: remove data`,
    ),
    data: { reserveBytes: all * 2, neededBytes: 0 },
  })
  await rejectsWith(t, createDiskSpace(dir, 5).require(all * 2), 'DISK_FULL', {
    message: new RegExp(`expected room for ${all * 2} for this call and the reserve of 5`),
    data: { neededBytes: all * 2 },
  })
})
