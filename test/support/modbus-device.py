"""A Modbus device by pymodbus, with known values, over TCP, RTU over TCP, or a serial line.

Usage: modbus-device.py tcp|rtu-tcp PORT   or   modbus-device.py rtu DEVICE
"""

import struct
import sys

from pymodbus.datastore import ModbusSequentialDataBlock, ModbusServerContext, ModbusSlaveContext
from pymodbus.server import StartSerialServer, StartTcpServer
from pymodbus.transaction import ModbusRtuFramer


def words(form, value):
    data = struct.pack(form, value)
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


holding = [0] * 200
holding[0] = 215  # 21.5 by scale 0.1
holding[1] = 0xFF38  # -200 as int16
holding[2:4] = words(">I", 4_000_000_000)
holding[4:6] = words(">f", 21.3)
low_first = words(">f", -7.25)
holding[6:8] = [low_first[1], low_first[0]]
holding[8:12] = words(">Q", 2**63 + 1)
holding[12:16] = words(">q", -5)
holding[16:20] = words(">d", 1 / 3)
holding[20:24] = words(">8s", b"P\xc3\xbcmp")
holding[24] = 0x8000  # no value
holding[25] = 0b0000_0100_0000_0001
holding[26:28] = words(">f", float("nan"))
device = ModbusSlaveContext(
    co=ModbusSequentialDataBlock(0, [False, True, False, True, True] + [False] * 15),
    di=ModbusSequentialDataBlock(0, [False] * 9 + [True] + [False] * 10),
    hr=ModbusSequentialDataBlock(0, holding),
    ir=ModbusSequentialDataBlock(0, [1, 2, 3]),
    zero_mode=True,
)
context = ModbusServerContext(slaves={17: device}, single=False)
kind, where = sys.argv[1:]
print("ready", flush=True)
if kind == "rtu":
    StartSerialServer(
        context=context, framer=ModbusRtuFramer, port=where, baudrate=19200, parity="N", stopbits=1, timeout=0.05
    )
else:
    framer = {"framer": ModbusRtuFramer} if kind == "rtu-tcp" else {}
    StartTcpServer(context=context, address=("127.0.0.1", int(where)), **framer)
