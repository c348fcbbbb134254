import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

interface Verdict {
  what: string
  first: number
  last: number
  limit: number
  isGrowing: boolean
}

const QUIET = { rssMb: 140, heapMb: 40, handles: 46, walMb: 8, diskMb: 3, p99Ms: 30 }

async function growing(at: (i: number) => Partial<typeof QUIET>): Promise<string[]> {
  const { judge } = (await import(pathToFileURL(path.resolve('scripts/soak/judge.mjs')).href)) as {
    judge(samples: object[]): Verdict[]
  }
  const samples = Array.from({ length: 60 }, (_, i) => ({ ...QUIET, ...at(i) }))
  return judge(samples)
    .filter(({ isGrowing }) => isGrowing)
    .map(({ what }) => what)
}

t.test('soak: what grows is named, what swings and the warm-up are not', async (t) => {
  t.same(await growing(() => ({})), [])
  t.same(
    await growing((i) => ({ rssMb: 140 + i * 0.4, heapMb: 30 + (i % 5) * 8 })),
    [],
    'within the tolerance',
  )
  t.same(await growing((i) => ({ rssMb: 161 + i * 1.5 })), ['RSS MB'], '161 to 250 MB in 20 minutes')
  t.same(await growing((i) => ({ heapMb: 30 + (i % 5) * 8 + i })), ['heap MB'], 'also beneath a swing')
  t.same(await growing((i) => ({ rssMb: i < 15 ? 60 + 5 * i : 140 })), [], 'the first quarter is the warm-up')
  t.same(await growing((i) => (i === 50 ? { rssMb: 900, p99Ms: 5000, handles: 400 } : {})), [], 'one moment')
  t.same(await growing((i) => ({ handles: 46 + i, walMb: i, p99Ms: i < 30 ? 20 : 400 })), [
    'handles',
    'WAL MB',
    'p99 ms',
  ])
})
