/* pb_arena: protobuf-c on memory that the caller has set aside, so that what a client sends decides
 * neither how much is allocated nor when. An unpack that wants more than the arena fails like a
 * malformed message. Nothing is freed one by one: the arena ends with its scope.
 *
 *   struct pb_arena arena;
 *   Sw__Hello *hello = sw__hello__unpack(pb_arena_init(&arena), bytes, data);
 *
 * Thread: any; one at a time. */
#ifndef SW_CONTROL_ADMISSION_PB_ARENA_H
#define SW_CONTROL_ADMISSION_PB_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#define PB_ARENA_BYTES 4096u

struct pb_arena {
	ProtobufCAllocator allocator;
	size_t used;
	_Alignas(16) uint8_t memory[PB_ARENA_BYTES];
};

/* Empties the arena; what was unpacked into it before is gone. */
ProtobufCAllocator *pb_arena_init(struct pb_arena *arena);

#endif
