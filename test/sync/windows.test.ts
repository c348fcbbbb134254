import t from 'tap'
import { isWithinWindows } from '../../src/sync/windows.js'

t.test('windows: local time, over midnight, the whole day', async (t) => {
  const at = (time: string) => Date.parse(`2027-01-01T${time}:00Z`) * 1000
  const night = ['22:00-05:30']
  t.same(
    ['21:59', '22:00', '00:00', '05:29', '05:30'].map((time) => isWithinWindows(night, at(time), 0)),
    [false, true, true, true, false],
  )
  t.equal(isWithinWindows(night, at('13:00'), 540), true, '22:00 in Japan')
  t.equal(isWithinWindows([], at('12:00'), 0), true)
  t.equal(isWithinWindows(['00:00-00:00'], at('12:00'), 0), true)
  t.equal(isWithinWindows(['01:00-02:00', '11:00-13:00'], at('12:00'), 0), true)
})

t.test('windows: a window within a day includes its first minute, not its last', async (t) => {
  const at = (time: string) => Date.parse(`2027-01-01T${time}Z`) * 1000
  const noon = ['11:15-12:30']
  t.same(
    ['00:00:00', '11:14:59', '11:15:00', '11:15:30', '12:29:59', '12:30:00', '23:59:59'].map((time) =>
      isWithinWindows(noon, at(time), 0),
    ),
    [false, false, true, true, true, false, false],
  )
  t.equal(isWithinWindows(['11:00-12:00', '13:00-14:00'], at('12:30:00'), 0), false, 'between two windows')
})

t.test('windows: any window that ends when it begins is a whole day', async (t) => {
  for (const minute of [0, 719, 720, 721, 1439]) {
    t.equal(isWithinWindows(['12:00-12:00'], minute * 60_000_000, 0), true, `minute ${minute}`)
  }
})

t.test('windows: local time is east of UTC, also where it is another day and before 1970', async (t) => {
  const at = (time: string) => Date.parse(`2027-01-01T${time}:00Z`) * 1000
  t.equal(isWithinWindows(['08:00-09:00'], at('23:30'), 540), true, '08:30 of the next day in Japan')
  t.equal(isWithinWindows(['08:00-09:00'], at('13:30'), -300), true, '08:30 in New York')
  t.equal(isWithinWindows(['08:00-09:00'], at('18:30'), -300), false)
  t.equal(isWithinWindows(['23:00-23:59'], at('03:30'), -240), true, '23:30 of the day before')
  t.equal(isWithinWindows(['23:00-23:59'], -60_000_000 * 30, 0), true, '23:30 on 31 December 1969')
})
