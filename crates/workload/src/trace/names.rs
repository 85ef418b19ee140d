//! Names that several formats share: of collectives and of element types.

use super::model::CollectiveKind;
use xoff_units::Bytes;

/// What a name of a call, kernel or log line stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Collective(CollectiveKind),
    Send,
    Receive,
    /// A kernel that sends, receives or does anything else, and does not say which.
    Any,
}

/// Names in the order in which they are looked for: a longer one before any that it contains.
const CALLS: [(&str, Call); 16] = [
    ("allreduce", Call::Collective(CollectiveKind::AllReduce)),
    ("reducescatter", Call::Collective(CollectiveKind::ReduceScatter)),
    ("allgather", Call::Collective(CollectiveKind::AllGather)),
    ("alltoall", Call::Collective(CollectiveKind::AllToAll)),
    ("broadcast", Call::Collective(CollectiveKind::Broadcast)),
    ("bcast", Call::Collective(CollectiveKind::Broadcast)),
    ("barrier", Call::Collective(CollectiveKind::Barrier)),
    ("scatter", Call::Collective(CollectiveKind::Scatter)),
    ("gather", Call::Collective(CollectiveKind::Gather)),
    ("reduce", Call::Collective(CollectiveKind::Reduce)),
    ("sendrecv", Call::Any),
    ("isend", Call::Send),
    ("irecv", Call::Receive),
    ("send", Call::Send),
    ("recv", Call::Receive),
    ("receive", Call::Receive),
];

/// What a name stands for, however it is spelled (`_allgather_base`, `ncclDevKernel_AllGather_RING_LL`,
/// `ALLGATHER`).
pub(super) fn call(name: &str) -> Option<Call> {
    /// A kernel's template arguments can go on for ever; its name is at the beginning.
    const ENOUGH: usize = 160;
    let letters = name.bytes().take(ENOUGH).filter(u8::is_ascii_alphabetic);
    let plain: String = letters.map(|byte| byte.to_ascii_lowercase() as char).collect();
    CALLS.iter().find(|(word, _)| plain.contains(word)).map(|(_, call)| *call)
}

/// The size of an element of one of PyTorch's types (`BFloat16`), also as frameworks above it spell
/// them (`torch.bfloat16`, `int64`).
pub(super) fn torch_type(name: &str) -> Option<Bytes> {
    let plain = name.strip_prefix("torch.").unwrap_or(name).to_ascii_lowercase();
    let size = match plain.as_str() {
        "float" | "int" | "float32" | "int32" | "uint32" | "qint32" => 4,
        "half" | "bfloat16" | "short" | "short int" | "float16" | "int16" | "uint16" => 2,
        "double" | "long" | "long int" | "complexfloat" | "float64" | "int64" | "uint64"
        | "complex64" => 8,
        "byte" | "char" | "signed char" | "unsigned char" | "bool" | "uint8" | "int8" | "qint8"
        | "quint8" => 1,
        "complexdouble" | "complex128" => 16,
        "complexhalf" | "complex32" => 4,
        _ if plain.starts_with("float8") => 1,
        _ => return None,
    };
    Some(Bytes::new(size))
}

/// The size of an element of one of NCCL's types, by its number in `nccl.h`.
pub(super) fn nccl_type(number: u64) -> Option<Bytes> {
    const SIZES: [u64; 12] = [1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1];
    SIZES.get(usize::try_from(number).ok()?).copied().map(Bytes::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use CollectiveKind as K;

    #[test]
    fn names_as_they_are_found() {
        for (name, kind) in [
            ("allreduce", K::AllReduce),
            ("allreduce_coalesced", K::AllReduce),
            ("_allgather_base", K::AllGather),
            ("all_gather_into_tensor_coalesced", K::AllGather),
            ("_reduce_scatter_base", K::ReduceScatter),
            ("all_to_allv", K::AllToAll),
            ("_reduce_oop", K::Reduce),
            ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", K::AllReduce),
            ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*)", K::ReduceScatter),
            ("REDUCESCATTER", K::ReduceScatter),
            ("AlltoAll", K::AllToAll),
            ("Gather", K::Gather),
            ("ncclBroadcastRingLLKernel_copy_i8", K::Broadcast),
        ] {
            assert_eq!(call(name), Some(Call::Collective(kind)), "{name}");
        }
        assert_eq!(call("ncclDevKernel_SendRecv(ncclDevComm*)"), Some(Call::Any));
        assert_eq!(call("send"), Some(Call::Send));
        assert_eq!(call("Recv"), Some(Call::Receive));
        assert_eq!(call("wait"), None);
        assert_eq!(call(&"é".repeat(1000)), None);
    }

    #[test]
    fn element_sizes() {
        for (name, size) in [
            ("BFloat16", 2),
            ("Float", 4),
            ("Long", 8),
            ("long int", 8),
            ("unsigned char", 1),
            ("Float8_e4m3fn", 1),
        ] {
            assert_eq!(torch_type(name), Some(Bytes::new(size)), "{name}");
        }
        assert_eq!(torch_type("Undefined"), None);
        assert_eq!(nccl_type(7), Some(Bytes::new(4)));
        assert_eq!(nccl_type(9), Some(Bytes::new(2)));
        assert_eq!((nccl_type(12), nccl_type(u64::MAX)), (None, None));
    }
}
